import { fileURLToPath } from 'node:url';

/** The compiled command line: the same path whether this file runs from `src` (tests) or from `dist`. */
export const convoyProgram = fileURLToPath(new URL('../../../dist/convoy.js', import.meta.url));

/** Line of the log of `convoy instance` and `convoy coordinator` once they serve requests. */
export const listensLine = /"event":"(?:listening|coordinatorStarted)".*"url":"(https?:[^"]+)"/;

/** Time limit of a process to connect to two clusters and Redis and to listen, on a loaded host. */
export const listensWithin_ms = 60_000;

/** The Redis of demo and tests is no setting of the processes they start, whose files say what they need. */
export const withoutRedisVariable = { CONVOY_REDIS_URL: '' };
