// The interfaces between Portcullis and its plugins. Generated from its WIT package; do not edit.

/**
 * Everything that passes between the host and a plugin, whatever its kind.
 *
 * Conventions that hold for every item below:
 *
 * - A plugin sees masked values only: a secret appears as `<secret:KIND:8 hex digits>`, the same
 *   placeholder for the same value throughout a session, never the value.
 * - A score is a whole number of thousandths, 0 to 1000. The host refuses anything above 1000.
 * - Text is UTF-8 and bounded: where no other bound stands, a plugin receives at most 64 KiB in one
 *   string, and whatever it returns is refused past 4 KiB a string and 64 items a list.
 * - What a plugin says that does not come with the host is shown as a quotation under its name: a sentence
 *   on one line of at most 400 bytes, a value of at most 256, a line of its log of at most 1 KiB; control
 *   characters, quotation marks, backticks and tags are spelled out or left out. A name (of a rule, a
 *   pattern, a kind of evidence) keeps its letters, digits and `._:/@+-`, 64 bytes of them.
 * - Paths are absolute, with `.`, `..`, `~` and a leading `$HOME` resolved as text; links are not
 *   followed in them (`path.link-target` says where one leads).
 * - An index into another list is always one of that list's.
 * - A fingerprint is there to be compared with another one of its kind, and to be kept; it has at most
 *   53 bits, so that every language holds it exactly. What is called a step elsewhere than in `step` is
 *   its position.
 * - Records and enumerations never change. What can grow has an `other` case, or an `attributes` list
 *   whose names the host documents; ignore what you do not know, and never read "not known" as
 *   "harmless". What a later version of the package adds, it adds as interfaces of its own.
 */
declare module "portcullis:plugin/types@0.1.0" {
    /** Milliseconds since 1970-01-01T00:00:00Z. The only clock a plugin needs: no other is offered. */
    export type Timestamp = number;

    /** A whole number of thousandths, 0 to 1000. */
    export type Score = number;

    /**
     * Named text values for what the typed fields do not hold. At most 32; names are lower case with
     * hyphens, values at most 1 KiB.
     */
    export type Attributes = Attribute[];

    /** A named text. */
    export interface Attribute {
        name: string;
        value: string;
    }

    /** How bad, from least to worst. */
    export type Severity =
        | "low"
        | "medium"
        | "high"
        | "critical";

    /**
     * What may happen to an action, from most to least permissive. `ask` is a block until a person
     * has decided, and a block where no person can.
     */
    export type Verdict =
        | "allow"
        | "warn"
        | "modify"
        | "ask"
        | "block";

    /** How much of an action the host understood. */
    export type Coverage =
        /** All of it. */
        | "full"
        /** Some of it could not be read, or has values that are known only when it runs. */
        | "partial";

    /** What the action is for, in one word. `unknown` covers what a later host may add. */
    export type Intent =
        | "file-read"
        | "file-creation"
        | "file-modification"
        | "file-deletion"
        | "system-command"
        | "network-request"
        | "message"
        | "unknown";

    /** One action of the agent: before it runs, or (with `outcome`) after. */
    export interface Action {
        /** The review's id, unique in the journal. */
        id: string;
        /** Position in the session, counted from 0 over all its agents: one agent's positions have gaps. */
        step: number;
        /** The agent program: `claude`, or the name of a recording's format. */
        client: string;
        /** The subagent that acts; absent for the session's main agent. */
        agent: string | null;
        /** The tool as the client names it, for example `Bash` or `mcp__files__write`. */
        tool: string;
        /** The action's purpose. */
        intent: Intent;
        /** The parameters, typed. */
        operation: Operation;
        /** What the host found out about it. */
        facts: Facts;
        /**
         * All parameters as received (masked), one JSON object as text. Cut at 64 KiB, then no longer
         * valid JSON, and `facts.coverage` is `partial`.
         */
        parameters: string;
        /** What came of it; absent before it ran. */
        outcome: Outcome | null;
        /** See `attributes`. The host sets `permission-mode` where the client tells it. */
        attributes: Attributes;
    }

    /** What the action does, by the shape of its parameters. */
    export type Operation =
        /** A shell command line. */
        | { tag: "shell"; val: Shell }
        /** A file tool: read, write, edit, search. */
        | { tag: "file"; val: FileOperation }
        /** A request that the client itself makes. */
        | { tag: "network"; val: NetworkRequest }
        /** Text for a person or another agent. */
        | { tag: "message"; val: Message }
        /** Any other tool, known by its name and named parameters only. */
        | { tag: "tool"; val: ToolCall }
        /** A shape that this version has no type for; the text names it. */
        | { tag: "other"; val: string };

    /** A shell command line, parsed. */
    export interface Shell {
        /** The text as received (masked). */
        text: string;
        /**
         * Every simple command in it, in order of appearance, those inside substitutions, nested
         * shells and wrappers included. At most 256; past that `facts.coverage` is `partial`.
         */
        commands: Command[];
        /** The client was asked to run it in the background. */
        background: boolean;
        /** The client's own time limit, in milliseconds. */
        timeoutMs: number | null;
    }

    /** One simple command. */
    export interface Command {
        /**
         * The program's name without its folder: `rm` for `/bin/rm`. Empty when it is known only
         * when the command runs.
         */
        program: string;
        /** The words after the program, quotes removed and known variables filled in. */
        words: Word[];
        /** Variables set for this command alone, in order. */
        assignments: Attributes;
        /** Where its input and output go. */
        redirections: Redirection[];
        /** The programs that start it, outermost first: `sudo`, `env`, `xargs`, `sh -c`, ... */
        wrappers: string[];
        /** How it came to be run. */
        origin: Origin;
        /** Which command feeds its standard input, as an index into `shell.commands`. */
        inputFrom: number | null;
        /**
         * First byte in `shell.text`, as UTF-8, of the simple command that stands there, after any wrapper.
         * Commands found inside other text (a `sh -c` word, say) carry the place of that word.
         */
        start: number;
        /** One past the last byte. */
        end: number;
        /** It runs as another, mightier user. */
        privileged: boolean;
    }

    /** One word of a command line. */
    export interface Word {
        /** Its value; parts that only the run can tell stand as U+FFFD. */
        text: string;
        /** All of `text` is known. */
        known: boolean;
        /** It was quoted, so no glob in it is expanded. */
        quoted: boolean;
    }

    /** How a command came to be run. */
    export type Origin =
        /** It stands on the command line. */
        | { tag: "plain" }
        /** Inside `$(...)` or backquotes. */
        | { tag: "substitution" }
        /** In the text given to another shell or interpreter (`sh -c`, a heredoc, `eval`). */
        | { tag: "nested" }
        /** In the body of a function. */
        | { tag: "function-body" }
        /** Any other way; the text names it. */
        | { tag: "other"; val: string };

    /** One redirection. */
    export interface Redirection {
        /** The file descriptor that is redirected. */
        descriptor: number;
        /** What is done with the target. */
        direction: Direction;
        /** A path as written, a descriptor number, or the text of a heredoc. */
        target: Word;
    }

    /** What a redirection does with its target. */
    export type Direction =
        | "input"
        | "output"
        | "append"
        | "duplicate"
        | "heredoc";

    /** A file tool's parameters. */
    export interface FileOperation {
        /** What the tool does with the path. */
        access: Access;
        /** The file or folder. */
        path: string;
        /** The text that is to be written, or that replaces `replaced`; cut at 64 KiB. */
        content: string | null;
        /** The text that an edit replaces; cut at 64 KiB. */
        replaced: string | null;
        /** The edit replaces every occurrence. */
        every: boolean;
    }

    /** What is done to a path. */
    export type Access =
        | "read"
        | "create"
        | "modify"
        | "delete"
        | "search";

    /** A request made by the client itself. */
    export interface NetworkRequest {
        /** The address, with any user information masked. */
        url: string;
        /** For example `GET`; absent where the client does not say. */
        method: string | null;
        /** The query or body, cut at 64 KiB. */
        body: string | null;
    }

    /** Text for a person or another agent. */
    export interface Message {
        /** Who it is for: `user`, or a subagent's type. */
        recipient: string;
        /** The text, cut at 64 KiB. */
        text: string;
    }

    /** A tool that the host has no type for. */
    export interface ToolCall {
        /** The server that offers it, where it comes over MCP. */
        server: string | null;
        /** The tool's own name, without the server. */
        name: string;
        /** Its top-level parameters: text as it is, other values as JSON text. */
        arguments: Attributes;
    }

    /** What came of an action. */
    export interface Outcome {
        /** When the host learned of it. */
        at: Timestamp;
        /** How it ended. */
        status: Status;
        /** The exit code, where there is one. */
        exitCode: number | null;
        /** The error's text (masked), cut at 4 KiB; empty unless `status` is `failed`. */
        error: string;
        /** The result's text (masked), cut at 16 KiB. */
        output: string;
        /** How long it ran, in milliseconds. */
        durationMs: number | null;
        /** Size of the whole result in bytes. */
        bytes: number;
        /** Tokens that the client says it cost. */
        tokens: number | null;
    }

    /** How an action ended. */
    export type Status =
        /** It has not ended, or nobody told. */
        | "pending"
        | "ok"
        | "failed"
        /** It never ran: refused by us, by the client or by the person. */
        | "refused";

    /** What the host found out about an action before any plugin saw it. */
    export interface Facts {
        /** What it does, as far as is known. At most 256; past that `coverage` is `partial`. */
        effects: Effect[];
        /** Every path it touches, once. At most 256. */
        paths: Path[];
        /** Every host it contacts, once, lower case, without a port. At most 64. */
        hosts: string[];
        /** Every program it starts, once. */
        programs: string[];
        /** Dangerous forms that were recognised. */
        forms: Form[];
        /**
         * Fingerprint of the action's shape: equal for the same tool, programs and flags, whatever
         * the paths and numbers.
         */
        shape: number;
        /** Fingerprint of the exact action. */
        identity: number;
        /** How much of it was understood. */
        coverage: Coverage;
        /** What was not understood, in words; empty when `coverage` is `full`. */
        gaps: string[];
    }

    /** One thing that an action does. */
    export interface Effect {
        /** What it does. */
        kind: EffectKind;
        /** To what: a path, a host, a process, a service, a package; empty when not known. */
        target: string;
        /** The path, as an index into `facts.paths`. */
        path: number | null;
        /** The command, as an index into `shell.commands`. */
        command: number | null;
        /** It covers everything below the target. */
        recursive: boolean;
        /** The target is fully known. Where it is not, `target` is the most that is. */
        certain: boolean;
    }

    /** What an effect does to its target. */
    export type EffectKind =
        | { tag: "file-read" }
        | { tag: "file-create" }
        | { tag: "file-modify" }
        | { tag: "file-delete" }
        /** Starts a program whose own effects are not known. */
        | { tag: "process-start" }
        | { tag: "process-stop" }
        /** Contacts a host: fetches, looks up, connects. */
        | { tag: "network" }
        /** Sends data of this machine to a host: an upload, a request with a body, a mail. */
        | { tag: "send" }
        /** Puts something where others get it: a package registry, a remote branch, a release. */
        | { tag: "publish" }
        /** Makes or changes something on a remote service or in a database. */
        | { tag: "remote-change" }
        /** Destroys data, or a resource that holds some, on a remote service or in a database. */
        | { tag: "remote-delete" }
        /**
         * Throws away work that nothing else holds: changes that are not committed, stashes, branches
         * that are not merged.
         */
        | { tag: "discard" }
        /** Changes the machine: packages, disks, users, kernel settings, power. */
        | { tag: "system-change" }
        /** Makes something start by itself later: start-up files, cron, services, hooks. */
        | { tag: "persistence" }
        /** Acts as a mightier user, or loosens permissions. */
        | { tag: "privilege" }
        /** Hides traces or weakens a protection: history, logs, firewalls, access control, scanners. */
        | { tag: "evade" }
        /** Reads a key, token, password or other credential. */
        | { tag: "secret-read" }
        /** Executes text that was downloaded, decoded or built, unseen by anyone. */
        | { tag: "unseen-code" }
        /** Uses up disk, memory, processors or money. */
        | { tag: "resource-use" }
        /** An effect that this version has no name for. */
        | { tag: "other"; val: string };

    /** One path that an action touches, as the workspace was when it was reviewed. */
    export interface Path {
        /** Absolute and normalised. A glob stands as written. */
        text: string;
        /** It holds a glob that the shell expands. */
        glob: boolean;
        /** Where it lies. */
        scope: Scope;
        /** What is there; `absent` when nothing is. */
        entry: Entry;
        /** Where the link leads, when `entry` is `link` or a parent is one: the real path. */
        linkTarget: string | null;
        /** Its state in git. */
        git: GitState;
        /** What it holds can be had back: clean in git, ignored build output, or a checkpoint. */
        restorable: boolean;
    }

    /** Where a path lies. */
    export type Scope =
        /** Inside the expected scope: the project, or what the configuration adds. */
        | "inside"
        /** A temporary folder or a usual build cache. */
        | "scratch"
        /** Outside the expected scope. */
        | "outside"
        /** Outside, and a part of the operating system, of the person's credentials or of start-up. */
        | "system"
        /** Not known before it runs. */
        | "unknown";

    /** What stands at a path. */
    export type Entry =
        | "absent"
        | "file"
        | "folder"
        | "link"
        /** A device, socket or pipe. */
        | "special"
        /** Not looked at, or not allowed to. */
        | "unknown";

    /** A path's state in git. */
    export type GitState =
        /** Tracked, and the work tree holds what the index holds. */
        | "clean"
        /** Tracked and changed. */
        | "changed"
        | "untracked"
        | "ignored"
        /** Not in a work tree, or not known. */
        | "unknown";

    /** A dangerous form that the host's catalogue recognised. */
    export interface Form {
        /** Stable name, for example `recursive-force-delete`. */
        id: string;
        /** In words, for a person. */
        label: string;
        /** What it adds to the risk: 100 to 300 thousandths. */
        weight: Score;
        /** The command, as an index into `shell.commands`. */
        command: number | null;
    }

    /** What surrounds the action. */
    export interface Context {
        /** The session's id. */
        session: string;
        /** When the action was received. */
        now: Timestamp;
        /** The folder that the action runs in. */
        cwd: string;
        /** The project's folders. */
        roots: string[];
        /**
         * What the person asked for, newest last; at most 16. Empty when nothing was stated: then
         * alignment is not to be scored.
         */
        goals: Goal[];
        /** Limits in force. */
        limits: Limit[];
        /** Earlier attempts at the same shape and the same exact action. */
        repetition: Repetition;
        /** What the risk-calculators found; empty while they run. */
        assessments: Assessed[];
        /**
         * See `attributes`. The host sets `home`, the absolute path of the person's home folder, where it
         * knows it.
         */
        attributes: Attributes;
    }

    /** Something that the person asked for. */
    export interface Goal {
        /** The prompt (masked), cut at 4 KiB. */
        text: string;
        /** When it was given. */
        at: Timestamp;
        /** 0 is the newest and most important: they count down where the list goes on. */
        priority: number;
    }

    /** A limit on what the agent may use up. */
    export interface Limit {
        /** What is limited. */
        quantity: Quantity;
        /** The most that is allowed, in the unit of `quantity`. */
        maximum: number;
        /** What is used so far. */
        used: number;
    }

    /** What a limit counts, and in which unit. */
    export type Quantity =
        /** Writes and deletes since the last prompt. */
        | { tag: "file-operations" }
        /** Bytes. */
        | { tag: "memory" }
        /** Tokens since the last prompt. */
        | { tag: "tokens" }
        /** Milliseconds since the last prompt. */
        | { tag: "time" }
        /** Items that one action may treat. */
        | { tag: "batch-size" }
        /** Anything else; the text names it and its unit. */
        | { tag: "other"; val: string };

    /** Earlier attempts. */
    export interface Repetition {
        /** Failures of the same shape with no success of it since. */
        failures: number;
        /** Times that this exact action ended well. */
        successes: number;
        /** Times that an action of this shape was reviewed in this session before. */
        seen: number;
    }

    /** A risk-calculator's finding, as later stages see it. */
    export interface Assessed {
        /** The plugin's name. */
        plugin: string;
        /** Its risk score, if it gave one. */
        risk: Score | null;
        /** Its rationality score, if it gave one. */
        rationality: Score | null;
        /** Its goal alignment, if it gave one. */
        alignment: Score | null;
        /** The strictest verdict among its rulings. */
        verdict: Verdict;
        /** The rules that it named. */
        rules: string[];
    }

    /**
     * One past step as `host.steps` gives it, small on purpose: numbers only, 0 for what is not there where 0 is
     * no value of it. `host.detail` has the rest.
     */
    export interface Step {
        /** Its position, as in `action.step`. */
        index: number;
        /** When it was reviewed. */
        at: Timestamp;
        intent: Intent;
        /** What was decided. */
        verdict: Verdict;
        /** How it ended. */
        status: Status;
        /** As in `facts.shape`. */
        shape: number;
        /** As in `facts.identity`. */
        identity: number;
        /** Fingerprint of its error with paths, numbers, addresses and times normalised; 0 for none. */
        error: number;
        /** Fingerprint of its result; 0 for none. */
        output: number;
        /** The risk that was decided on. */
        risk: Score;
        /** Goal alignment; absent when it was not scored. */
        alignment: Score | null;
        /** How many effects it has. */
        effects: number;
        /** How many of them lie outside the expected scope. */
        outside: number;
        /** Files that it writes or deletes. */
        files: number;
        /** Which prompt of the session it belongs to, from 0. */
        prompt: number;
        /** Bytes that it produced. */
        bytes: number;
        /** Tokens that it cost; 0 when not told. */
        tokens: number;
        /** How long it ran, in milliseconds; 0 when not told. */
        durationMs: number;
    }

    /** Sums over a session. */
    export interface Totals {
        steps: number;
        warned: number;
        modified: number;
        asked: number;
        blocked: number;
        failed: number;
        /** Files written or deleted. */
        files: number;
        /** Bytes produced. */
        bytes: number;
        tokens: number;
        durationMs: number;
        prompts: number;
        interventions: number;
    }

    /** A past step in full, for the few plugins that need more than numbers. */
    export interface StepDetail {
        tool: string;
        /** As in `action.parameters`. */
        parameters: string;
        effects: Effect[];
        paths: Path[];
        outcome: Outcome | null;
    }

    /** A point in favour of a finding. */
    export interface Evidence {
        /** What it is: `path`, `command`, `host`, `error`, `step`, `growth`, ... */
        kind: string;
        /** The thing itself, at most 1 KiB. */
        value: string;
        /** The step it belongs to. */
        step: number | null;
    }

    /**
     * Why a plugin could not answer. Saying so is honest; the host counts it as a fault of the
     * plugin, never as "nothing found".
     */
    export type Error =
        /** A setting is unknown, of the wrong type or impossible. */
        | { tag: "invalid-setting"; val: SettingError }
        /** `prepared` or `state` is not what this plugin writes. */
        | { tag: "invalid-input"; val: string }
        /** Anything else that went wrong. */
        | { tag: "failed"; val: string };

    /** A setting that cannot be used. */
    export interface SettingError {
        /** Its name, with dots between tables. */
        key: string;
        /** What is wrong and what would be right. */
        reason: string;
    }

    /** One setting from the operator's configuration. Tables are flattened: `[a.b] c = 1` is `a.b.c`. */
    export interface Setting {
        key: string;
        value: SettingValue;
    }

    /** A setting's value. A score, as descriptors declare it, is an integer of thousandths. */
    export type SettingValue =
        | { tag: "text"; val: string }
        | { tag: "integer"; val: number }
        | { tag: "decimal"; val: number }
        | { tag: "flag"; val: boolean }
        | { tag: "texts"; val: string[] };
}

/** What a plugin may ask of the host. Nothing else is there unless the operator granted it. */
declare module "portcullis:plugin/host@0.1.0" {
    import type { Step, StepDetail } from "portcullis:plugin/types@0.1.0";
    export type { Step, StepDetail } from "portcullis:plugin/types@0.1.0";

    /** How loud a log line is. */
    export type Level =
        | "debug"
        | "info"
        | "warn"
        | "error";

    export interface Host {
        /**
         * Writes one line to the plugin's log. Budget for each call into the plugin: 64 lines, 8 KiB in
         * all; what is past it is dropped and the drop is noted. Control characters are escaped.
         */
        log(level: Level, message: string): void;

        /**
         * The newest steps of this session, oldest first: as many as are asked for, at most 200. The action
         * under review is not among them before it ran, and is the last of them after. Patterns alone get
         * any. Each costs fuel, so ask for as many as you look at.
         */
        steps(newest: number): Step[];

        /**
         * One past step of this session in full. None when it is older than the history that the host
         * keeps, or does not exist. At most 16 calls in each call into the plugin; further ones answer
         * none.
         */
        detail(step: number): StepDetail | null;
    }

    const host: Host;
    export default host;
}

/**
 * Writes records in a format. The plugin renders bytes; the host delivers them to where the operator
 * configured, so that an exporter needs neither files nor network.
 */
declare module "portcullis:plugin/exporter@0.1.0" {
    import type { Attributes, Error, Score, Setting, Severity, Timestamp, Verdict } from "portcullis:plugin/types@0.1.0";
    export type { Attributes, Error, Score, Setting, Severity, Timestamp, Verdict } from "portcullis:plugin/types@0.1.0";

    /** One record of the journal. */
    export interface AuditRecord {
        /** Position in the journal, from 1, without gaps. */
        sequence: number;
        /** The record's id. */
        id: string;
        at: Timestamp;
        kind: RecordKind;
        session: string;
        agent: string | null;
        /** The tool or event. */
        subject: string;
        /** The action in one line. */
        summary: string;
        /** For reviews. */
        decision: Decision | null;
        detections: Detected[];
        faults: Faulted[];
        /** Hash of the record before it, 64 hex digits. */
        previous: string;
        /** Its own hash, 64 hex digits. */
        hash: string;
        /** The whole record as the journal holds it: one JSON object, the text that is hashed. */
        document: string;
        /** See `attributes`. */
        attributes: Attributes;
    }

    /** What a record tells of. */
    export type RecordKind =
        | { tag: "review" }
        | { tag: "outcome" }
        | { tag: "unreviewed" }
        | { tag: "intervention" }
        | { tag: "session" }
        | { tag: "configuration" }
        | { tag: "fault" }
        /** A kind that this version has no name for. */
        | { tag: "other"; val: string };

    /** What was decided. */
    export interface Decision {
        verdict: Verdict;
        risk: Score;
        /** Absent when nothing could be scored. */
        rationality: Score | null;
        confidence: Score;
        reasons: string[];
        /** The plugins and rules that objected. */
        sources: string[];
    }

    /** A pattern that was seen. */
    export interface Detected {
        pattern: string;
        severity: Severity;
        confidence: Score;
        impact: Score;
    }

    /** A fault that was counted. */
    export interface Faulted {
        /** The plugin, or `host`. */
        source: string;
        /** The fault's stable name, for example `out-of-fuel`. */
        name: string;
        detail: string;
    }

    /** Rendered records. */
    export interface Rendered {
        /** At most 8 MiB. */
        bytes: Uint8Array;
        /** For example `text/csv; charset=utf-8`. */
        contentType: string;
    }

    export interface Exporter {
        /**
         * Checks the settings and does once what need not be done for each call. The host keeps the
         * answer (at most 1 MiB) for as long as plugin and settings stay the same.
         */
        prepare(settings: Setting[]): Uint8Array;

        /**
         * Renders records in order. `first` is set for the first batch of an export, where a format has a
         * heading.
         */
        render(prepared: Uint8Array, records: AuditRecord[], first: boolean): Rendered;
    }
}

/**
 * Answers an issue. The host decides whether and which intervention is due; the plugin words and
 * shapes it.
 */
declare module "portcullis:plugin/intervener@0.1.0" {
    import type { Attributes, Context, Error, Evidence, Limit, Score, Setting, Severity, Timestamp, Totals } from "portcullis:plugin/types@0.1.0";
    export type { Attributes, Context, Error, Evidence, Limit, Score, Setting, Severity, Timestamp, Totals } from "portcullis:plugin/types@0.1.0";

    /** What is wrong: what patterns detected or a rule objected to, as the host counts it. */
    export interface Issue {
        /** A pattern's name, or `rule:` and a rule's name. */
        name: string;
        severity: Severity;
        confidence: Score;
        impact: Score;
        /** The step at which it began. */
        firstStep: number;
        summary: string;
        evidence: Evidence[];
        /** How often it came up before in this session. */
        recurrences: number;
    }

    /** Where the session stands. */
    export interface Situation {
        /** The step under review. */
        step: number;
        /** How far the host has escalated, 0 to 4. */
        level: number;
        /** The controller's score, in thousandths; may exceed 1000. */
        score: number;
        totals: Totals;
        /** Checkpoints that can be restored, newest first; at most 16. */
        checkpoints: Checkpoint[];
        /** Earlier interventions of this session, newest first; at most 16. */
        past: PastIntervention[];
        /** The newest actions in a line each, newest last; at most 50. */
        recent: string[];
        /** Message templates of the operator: issue name, then text. */
        templates: Attributes;
    }

    /** A saved state of the files. */
    export interface Checkpoint {
        id: string;
        /** Before which step it was taken. */
        step: number;
        at: Timestamp;
        /** Share of steps before it that ended well. */
        successRate: Score;
        /** Why it is not safe to return to, if so. */
        unsafeBecause: string | null;
    }

    /** An earlier intervention. */
    export interface PastIntervention {
        /** The intervention plugin's name. */
        kind: string;
        issue: string;
        step: number;
        at: Timestamp;
        /** How far the steps after it were free of the issue; absent when too early to say. */
        effectiveness: Score | null;
    }

    /** What is to be done. */
    export type Response =
        /** Go on, with guidance, context and limits. */
        | { tag: "guide"; val: Guidance }
        /** Put the files back. */
        | { tag: "rollback"; val: Rollback }
        /** End the session. */
        | { tag: "stop"; val: Stop }
        /** Nothing safe is known; a plan for the person. */
        | { tag: "recovery-needed"; val: Plan };

    /** Guidance for the agent. */
    export interface Guidance {
        /** Text for the agent, at most 4 KiB each, 8 in all. */
        messages: string[];
        /** Facts that the agent is to have before it: the request, constraints, boundaries. */
        background: Background[];
        /** New limits; the host refuses one that is looser than what is in force. */
        limits: Limit[];
    }

    /** A fact that the agent is to have before it. */
    export interface Background {
        /** For example `original request`. */
        title: string;
        text: string;
        /** Say it first and plainly. */
        emphasised: boolean;
    }

    /** Return to a checkpoint. */
    export interface Rollback {
        /** One of `situation.checkpoints`. */
        checkpoint: string;
        /** What the agent is told afterwards. */
        guidance: Guidance;
    }

    /** End the session. */
    export interface Stop {
        /** For the person and the agent: what happened. */
        message: string;
        report: StopReport;
    }

    /** What a person needs after a stop. */
    export interface StopReport {
        /** Why it came to this, in a sentence. */
        rootCause: string;
        /** What else played a part. */
        contributingFactors: string[];
        /** What to do now, in order. */
        immediate: string[];
        /** What keeps it from happening again. */
        preventive: string[];
        /** What of the configuration could be changed, a line each. */
        configuration: string[];
    }

    /** A plan for the person. */
    export interface Plan {
        /** Why nothing can be done automatically. */
        reason: string;
        /** What to do, in order. */
        steps: string[];
    }

    export interface Intervener {
        /**
         * Checks the settings and does once what need not be done for each call. The host keeps the
         * answer (at most 1 MiB) for as long as plugin and settings stay the same.
         */
        prepare(settings: Setting[]): Uint8Array;

        /** Answers one issue. */
        intervene(prepared: Uint8Array, issue: Issue, situation: Situation, context: Context): Response;
    }
}

/**
 * Notices how a session goes wrong. Called before an action runs and again when its outcome is known
 * (`action.outcome` tells which), so that most patterns look at outcomes alone.
 */
declare module "portcullis:plugin/detector@0.1.0" {
    import type { Action, Context, Error, Evidence, Score, Setting, Severity, Totals } from "portcullis:plugin/types@0.1.0";
    export type { Action, Context, Error, Evidence, Score, Setting, Severity, Totals } from "portcullis:plugin/types@0.1.0";

    /** What a pattern found, and what it wants to remember. */
    export interface Report {
        /** Empty when nothing is wrong. At most 16. */
        detections: Detection[];
        /**
         * What the next call gets as `state`; at most 64 KiB. None keeps the old one, an empty list
         * forgets it.
         */
        state: Uint8Array | null;
    }

    /** Something that is going wrong. */
    export interface Detection {
        /** The pattern's name, for example `repetitive_errors`. */
        pattern: string;
        severity: Severity;
        /** How sure. */
        confidence: Score;
        /** How much of the session it touches. */
        impact: Score;
        /** The step at which it began. */
        firstStep: number;
        /** In words, for a person and the agent. */
        summary: string;
        evidence: Evidence[];
    }

    export interface Detector {
        /**
         * Checks the settings and does once what need not be done for each call. The host keeps the
         * answer (at most 1 MiB) for as long as plugin and settings stay the same.
         */
        prepare(settings: Setting[]): Uint8Array;

        /**
         * Looks at the session. `state` is what the last call returned, empty at first; begin it with a
         * version of your own, since a newer version of the plugin may get an older one's. Each agent of a
         * session has a state of its own, unless the descriptor names `session` among what the plugin reads.
         * `totals` are sums over the whole session; `host.steps` has its steps.
         */
        detect(prepared: Uint8Array, state: Uint8Array, totals: Totals, action: Action, context: Context): Report;
    }
}

/**
 * Judges one action by itself: how risky, how sensible, what it leaves behind, which rules it breaks.
 * Every part of the answer is optional; give what you know and leave the rest absent.
 */
declare module "portcullis:plugin/assessor@0.1.0" {
    import type { Action, Context, Error, Evidence, Score, Setting, Severity } from "portcullis:plugin/types@0.1.0";
    export type { Action, Context, Error, Evidence, Score, Setting, Severity } from "portcullis:plugin/types@0.1.0";

    /** What a risk-calculator says of an action. */
    export interface Assessment {
        risk: Risk | null;
        rationality: Rationality | null;
        /**
         * What it leaves behind, and whether that can be undone; absent when it was not looked at,
         * empty when there is nothing.
         */
        sideEffects: SideEffect[] | null;
        /** Rules that object. No ruling is no objection. */
        rulings: Ruling[];
    }

    /** How risky. The host takes the highest score of all risk-calculators. */
    export interface Risk {
        /** 950 and above is critical, 800 high, 600 medium, below low. */
        score: Score;
        /** What it is made of, in the order in which it was added. */
        factors: Factor[];
    }

    /** One part of a risk score. */
    export interface Factor {
        /** Stable name, for example `out_of_scope`. */
        id: string;
        kind: FactorKind;
        /** What it adds, in thousandths; the base's own value for `base`. */
        weight: Score;
        /** Why, in words, for a person. */
        reason: string;
        evidence: Evidence[];
    }

    /** Where a part of a risk score comes from. */
    export type FactorKind =
        | "base"
        | "scope"
        | "repetition"
        | "privilege"
        /** A dangerous form: it turns a warning into a modification. */
        | "form"
        /** Anything else. */
        | "custom";

    /**
     * How sensible. The host takes the mean of the components that are present, and the lowest mean
     * of all risk-calculators. 800 and above is high, 500 medium, below low.
     */
    export interface Rationality {
        /** 1000 contributes to a stated goal, 0 does not; absent when no goal was stated. */
        alignment: Score | null;
        /** 1000 builds on earlier steps, 700 a new path, 300 repeats, 0 contradicts. */
        progression: Score | null;
        /** 500 when a cheaper way is known, else 1000. */
        efficiency: Score | null;
        /** 500 when a needed earlier step is missing, else 1000. */
        completeness: Score | null;
        /** What is not sensible, in words. */
        issues: string[];
        /** What would be better, in words. */
        suggestions: string[];
    }

    /** One thing that the action leaves behind. */
    export interface SideEffect {
        kind: SideEffectKind;
        /** A path, host, process or service. */
        target: string;
        /** `critical` blocks the action. */
        severity: Severity;
        /** It can be undone with what is at hand. */
        reversible: boolean;
        /** How it could be softened or undone, in words. */
        mitigation: string | null;
    }

    /** What kind of thing an action leaves behind. */
    export type SideEffectKind =
        | { tag: "file-write" }
        | { tag: "file-deletion" }
        | { tag: "system-change" }
        | { tag: "process" }
        | { tag: "network" }
        | { tag: "resource-use" }
        /** A kind that this version has no name for. */
        | { tag: "other"; val: string };

    /** A rule's objection. */
    export interface Ruling {
        /** Stable name, for example `prevent_recursive_deletion`. */
        rule: string;
        /** What it asks for. */
        objection: Objection;
        /** `critical` stops the session, not the action alone. */
        severity: Severity;
        /** Why, in words that help the agent and the person. */
        reason: string;
        evidence: Evidence[];
        /** What could be done instead, in words. */
        alternatives: string[];
        /** For `modify`: how the parameters would have to change. Without it, `modify` is `ask`. */
        rewrite: Rewrite | null;
    }

    /** A verdict as a rule may ask for it: it can object, and not allow. */
    export type Objection =
        | "warn"
        | "modify"
        | "ask"
        | "block";

    /**
     * A change of the action's parameters. The host applies it, reviews the result once more, and
     * refuses it when that is no better.
     */
    export interface Rewrite {
        /** Applied together to the parameters as received; they must not overlap. At most 16. */
        edits: Edit[];
        /** What changes and why, in words. */
        explanation: string;
    }

    /** A change of one named parameter. */
    export interface Edit {
        /** A top-level parameter, for example `command`. */
        parameter: string;
        change: Change;
    }

    /** What becomes of a parameter. */
    export type Change =
        /** A new text. It may not hold a placeholder of a masked value. */
        | { tag: "set-text"; val: string }
        | { tag: "set-integer"; val: number }
        | { tag: "set-flag"; val: boolean }
        /** Replaces a part of a text and leaves the rest, masked values included, as it is. */
        | { tag: "splice"; val: Splice }
        | { tag: "remove" };

    /** A replacement inside a text parameter. */
    export interface Splice {
        /** First byte of the text as UTF-8, at a character boundary, as the plugin sees it. */
        start: number;
        /** One past the last byte. */
        end: number;
        text: string;
    }

    export interface Assessor {
        /**
         * Checks the settings and does once what need not be done for each action. The host keeps the
         * answer (at most 1 MiB) for as long as plugin and settings stay the same.
         */
        prepare(settings: Setting[]): Uint8Array;

        /** Judges one action. `prepared` is what `prepare` gave. */
        assess(prepared: Uint8Array, action: Action, context: Context): Assessment;
    }
}
