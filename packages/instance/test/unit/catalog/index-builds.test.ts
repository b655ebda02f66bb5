import { expect, it, vi } from 'vitest';
import { BuildsUnderWay, watchedBuild } from '../../../src/catalog/index-builds.js';
import type { CallOptions } from '../../../src/cluster/node-client.js';
import { never } from '../model/parts.js';

/** Builds whose clock goes on at once when somebody sleeps. */
function buildsAt(): { builds: BuildsUnderWay; now_ms: () => number } {
  let now_ms = 0;
  const sleep = async (duration_ms: number, signal: AbortSignal): Promise<void> => {
    await new Promise((resolve) => void setImmediate(resolve));
    signal.throwIfAborted();
    now_ms += duration_ms;
  };
  return { builds: new BuildsUnderWay({ sleep, monotonic_ms: () => now_ms }), now_ms: () => now_ms };
}

/** A command that is answered only when it is aborted. */
const unanswered = ({ signal }: CallOptions): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

it('is given up once it is silent and builds nothing, later each time', async () => {
  const { builds, now_ms } = buildsAt();
  const ended: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const sent = watchedBuild(builds, 'shop.orders', never, unanswered, () => Promise.resolve(false));
    await expect(sent).rejects.toMatchObject({ name: 'NoAnswerError' });
    ended.push(now_ms());
  }
  expect(ended).toEqual([20_000, 60_000, 140_000]);
});

it('is waited for while it builds, or while nobody can say', async () => {
  const { builds, now_ms } = buildsAt();
  const looks = [() => true, () => Promise.reject(new Error('no answer')), () => true, () => false];
  const look = vi.fn(() => Promise.resolve().then(() => looks[look.mock.calls.length - 1]?.() ?? false));
  await expect(watchedBuild(builds, 'shop.orders', never, unanswered, look)).rejects.toMatchObject({
    name: 'NoAnswerError',
  });
  expect([now_ms(), look.mock.calls.length]).toEqual([50_000, 4]);
});

it('ends with its answer, and has no limit as a call', async () => {
  const { builds } = buildsAt();
  const options: CallOptions[] = [];
  const send = (given: CallOptions) => (options.push(given), Promise.resolve({ ok: 1 }));
  await watchedBuild(builds, 'shop.orders', never, send, () => Promise.resolve(false));
  expect(options.map(({ answerMax_ms }) => answerMax_ms)).toEqual([Infinity]);
  const failing = watchedBuild(
    builds,
    'shop.orders',
    never,
    () => Promise.reject(new Error('refused')),
    () => Promise.resolve(true),
  );
  await expect(failing).rejects.toThrow('refused');
});
