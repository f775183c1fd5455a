// Paths as a project names its files: GitLab makes links of them.

import { isPlain } from "./text.js";

/** The most characters of a path. */
export const MOST_PATH = 256;

/** The first of these paths that is in the folder, relative to it; null where none is. */
export function placeOf(paths, folder) {
    const root = folder.endsWith("/") ? folder : `${folder}/`;
    for (const path of paths) {
        if (path.startsWith("/") && (folder === "" || !path.startsWith(root))) continue;
        let place = path.startsWith("/") ? path.slice(root.length) : path;
        while (place.startsWith("./")) place = place.slice(2);
        while (place.endsWith("/")) place = place.slice(0, -1);
        if (isPlace(place)) return place;
    }
    return null;
}

/** Whether it is a path in the project, and one that no reader takes for something else. */
export function isPlace(path) {
    return path.length <= MOST_PATH && isPlain(path) && path.split("/").every((part) => !["", ".", ".."].includes(part));
}
