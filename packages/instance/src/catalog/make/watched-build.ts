import { NoAnswerError } from '../../async/clock.js';
import type { CallOptions } from '../../cluster/node-client.js';
import type { BuildsUnderWay } from './builds-under-way.js';

/** Interval between looks at a build that has been seen. */
const look_ms = 10_000;

/**
 * Sends a command that builds indexes, which may be silent for hours. When it is silent for longer than other commands
 * may be, Convoy looks whether the indexes are being built. If they are not, whoever was asked is gone, or has built
 * them without an answer, or they wait in the server's queue: the command is given up, and a repetition finds what is
 * there. Each time doubles the limit, for the sake of the queue.
 * @param namespace of the collection
 * @param isBuilding whether any of the indexes is being built
 * @throws NoAnswerError; what the command throws
 */
export async function watchedBuild(
  builds: BuildsUnderWay,
  namespace: string,
  signal: AbortSignal,
  send: (options: CallOptions) => Promise<unknown>,
  isBuilding: (signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  const given = new AbortController();
  const done = new AbortController();
  const sent = send({ signal: AbortSignal.any([signal, given.signal]), answerMax_ms: Infinity });
  const over = AbortSignal.any([signal, done.signal]);
  const watch = async (): Promise<void> => {
    const limit_ms = builds.limits.limit_ms(namespace);
    await builds.clock.sleep(limit_ms, over);
    // A look that fails says nothing about the build.
    while (!over.aborted && (await isBuilding(over).catch(() => true))) await builds.clock.sleep(look_ms, over);
    over.throwIfAborted();
    builds.limits.exceeded(namespace, limit_ms);
    given.abort(new NoAnswerError(`No answer to createIndexes of ${namespace}, which builds nothing`));
  };
  const watching = watch().catch((error: unknown) => {
    if (!over.aborted) given.abort(error);
  });
  try {
    await sent;
  } finally {
    done.abort();
    await watching;
  }
}
