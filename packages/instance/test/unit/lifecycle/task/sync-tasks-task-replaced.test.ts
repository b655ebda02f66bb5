import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, it } from 'vitest';
import { replacementOf, type Replacement } from '../../../../src/lifecycle/task/sync-tasks.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { runTogether } from '../../../../src/async/together.js';
import { never } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';

const stale = new ConvoyError('staleEpoch');
let hard: AbortController;
let lines: string[];
let replacement: Replacement;

beforeEach(() => {
  hard = new AbortController();
  lines = [];
  const logger = createLogger({ verbosity: 'WARN', stream: { write: (line: string) => lines.push(line) } });
  replacement = replacementOf(['shard0'], logger, hard.signal);
});

/** A write whose answer never comes. */
const unanswered = (): Promise<void> => untilAborted(replacement.signal, () => undefined);

describe('a process whose task has another owner', () => {
  it('does not wait for its writes in flight, and logs once why', async () => {
    const checkpoint = (): Promise<void> => Promise.reject(stale);
    await expect(runTogether(never, [unanswered, checkpoint], replacement.onFailure)).rejects.toBe(stale);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('tasksTakenOver');
  });

  it('ends with the process as well', async () => {
    const work = unanswered();
    hard.abort(new ConvoyError('shuttingDown'));
    await expect(work).rejects.toThrow(ConvoyError);
    expect(lines).toEqual([]);
  });
});

it('another failure lets the writes in flight be answered', () => {
  replacement.onFailure(new ConvoyError('writeRefused'));
  expect(replacement.signal.aborted).toBe(false);
  expect(lines).toEqual([]);
});
