// What a command line does to files: which changes delete, move or empty one.

import { isNamedAsTest, nameOf } from "./tests_of.js";
import { isBlank } from "./texts.js";

const KINDS = ["file-create", "file-modify", "file-delete"];

/** The changes that a command line makes, in order: their kind, the path, and the command if one makes it. */
export function changesBy(shell, { effects, paths }) {
    return effects
        .filter((effect) => KINDS.includes(effect.kind.tag) && effect.path !== null)
        .map((effect) => ({
            kind: effect.kind.tag,
            path: paths[effect.path],
            command: shell.commands[effect.command] ?? null,
        }));
}

export function deletes({ kind, command }) {
    return kind === "file-delete" || (command !== null && isOfGit(command, "rm"));
}

/** It moves a test to where it is none. */
export function moves(change, changes, project) {
    const { command, path } = change;
    if (command === null || !(command.program === "mv" || isOfGit(command, "mv"))) return false;
    const own = changes.filter((other) => other.command === command && !other.path.text.split("/").includes(".git"));
    const first = textsOf(command).some((word) => word === "-t" || word.startsWith("--target-directory"));
    const target = own.at(first ? 0 : -1);
    return target !== undefined && target !== change && !keeps(path, target.path, project);
}

export function empties({ kind, command }) {
    if (kind === "file-delete") return false;
    if (command === null) return true;
    const words = textsOf(command);
    switch (command.program) {
        case ":":
        case "true":
        case "truncate":
            return true;
        case "cp":
            return words[0] === "/dev/null";
        case "cat":
            return words[0] === "/dev/null" && words.length === 1;
        case "echo":
        case "printf": {
            const printed = words.slice(words[0] === "-n" ? 1 : 0).join("");
            const appends = command.redirections.some((redirection) => redirection.direction === "append");
            return isBlank(printed.replaceAll("\\n", "")) && !appends;
        }
        default:
            return false;
    }
}

/** A test that is moved there is a test still. */
function keeps(source, target, project) {
    const name = nameOf(source.text);
    const into = target.entry === "folder" || (!nameOf(target.text).includes(".") && name.includes("."));
    const end = into ? `${target.text}/${name}` : target.text;
    return isNamedAsTest(name) ? project.place(end) !== null && isNamedAsTest(nameOf(end)) : project.test(end) !== null;
}

/** `git rm`, for `rm`. */
function isOfGit(command, name) {
    return command.program === "git" && textsOf(command)[0] === name;
}

function textsOf(command) {
    return command.words.map((word) => word.text);
}
