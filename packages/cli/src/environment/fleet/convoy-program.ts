import { fileURLToPath } from 'node:url';

/** The compiled command line: the same path whether this file runs from `src` (tests) or from `dist`. */
export const convoyProgram = fileURLToPath(new URL('../../../dist/convoy.js', import.meta.url));

/** What `convoy instance` and `convoy coordinator` print once they answer requests. */
export const listensLine = /listens on (http:\S+)/;

/** A process connects to two clusters and Redis before it listens; a machine under load needs its time. */
export const listensWithin_ms = 60_000;
