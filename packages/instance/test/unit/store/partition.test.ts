import { describe, expect, it, test } from 'vitest';
import type { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Partition, wholeRange } from '../../../src/store/partition.js';
import { RecordScan } from '../../../src/store/record-scan.js';
import { changeOf, rawOf } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';

function waiting(): Partition {
  return Partition.waiting(wholeRange);
}

function starting(readTime = 10n): Partition {
  const partition = waiting();
  bringTo(partition, 'starting', readTime);
  return partition;
}

function copying(readTime = 10n): Partition {
  const partition = waiting();
  bringTo(partition, 'copying', readTime);
  return partition;
}

/** All documents are acknowledged, and the closing write is in flight. */
function closing(): Partition {
  const partition = copying();
  partition.endReading(12n);
  partition.close();
  return partition;
}

function done(): Partition {
  const partition = waiting();
  bringTo(partition, 'done', 10n);
  return partition;
}

function reopening(): Partition {
  const partition = done();
  partition.startReopening();
  return partition;
}

function scanned(): Partition {
  return Partition.waiting(wholeRange, new RecordScan());
}

/** The error of a change that breaks a rule. */
function broken(change: () => unknown): string {
  try {
    change();
  } catch (error) {
    const { error: name, message } = error as ConvoyError;
    return message.startsWith(name) ? message : name;
  }
  return 'no rule was broken';
}

describe('a change that breaks a rule of partitions ends the process, and names the rule', () => {
  test.each<[rule: string, of: () => Partition, change: (partition: Partition) => unknown]>([
    ['only a waiting one is started', copying, (partition) => partition.start(20n)],
    ['only a waiting one is started', done, (partition) => partition.start(20n)],
    [
      'only a waiting one is started',
      reopening,
      (partition) => {
        partition.reopen(11n);
        partition.start(20n);
      },
    ],
    [
      'it is not read earlier than before',
      starting,
      (partition) => {
        partition.abandon();
        partition.start(9n);
      },
    ],
    [
      'its read includes every dropped event',
      waiting,
      (partition) => {
        partition.raiseDropped(5n);
        partition.start(4n);
      },
    ],
    ['its read time is set before it is copied', waiting, (partition) => partition.startCopying()],
    ['one that is done has no attempt', done, (partition) => partition.markDirty()],
    ['documents are written while it is copied', starting, (partition) => partition.wrote(1, 1)],
    ['documents are written while it is copied', closing, (partition) => partition.wrote(1, 1)],
    ['it is dirty before its first document is written', copying, (partition) => partition.wrote(1, 1)],
    ['a read does not end before its time', copying, (partition) => partition.endReading(9n)],
    ['a read does not end before its time', waiting, (partition) => partition.endReading(9n)],
    ['events are buffered only during an attempt', waiting, (partition) => partition.buffer(changeOf(1, 11n))],
    ['events are buffered only during an attempt', done, (partition) => partition.buffer(changeOf(1, 11n))],
    ['the read includes no buffered event', copying, (partition) => partition.buffer(changeOf(1, 10n))],
    ['no event of one that is done is dropped for a later read', done, (partition) => partition.raiseDropped(11n)],
    ['only an open one is split', done, (partition) => partition.splitAt(rawOf(1), false)],
    ['only an open one is split', closing, (partition) => partition.splitAt(rawOf(1), false)],
    ['it is split between its bounds', copying, (partition) => partition.splitAt(wholeRange.lower, false)],
    ['it is split between its bounds', copying, (partition) => partition.splitAt(wholeRange.upper, false)],
    ['one that may be stored as done is not abandoned', closing, (partition) => partition.abandon()],
    ['one that may be stored as done is not abandoned', done, (partition) => partition.abandon()],
    ['only one that is copied is closed', waiting, (partition) => partition.close()],
    ['only one that is copied is closed', closing, (partition) => partition.close()],
    ['its read has ended when it is closed', copying, (partition) => partition.close()],
    ['it is done once it is stored as closed', copying, (partition) => partition.finish()],
    ['no attempt is reopened, and nothing twice', copying, (partition) => partition.startReopening()],
    ['no attempt is reopened, and nothing twice', reopening, (partition) => partition.startReopening()],
    ['it waits again once that is stored', done, (partition) => partition.reopen(11n)],
    ['what is reopened waits, dirty', reopening, (partition) => partition.finishReopening()],
    ['a piece ends while it is copied', copying, (partition) => partition.endPiece([])],
    ['a piece ends while it is copied', scanned, (partition) => partition.endPiece([])],
    ['only a waiting one leaves record order', waiting, (partition) => partition.startLeaving()],
    ['it leaves record order once that is stored', scanned, (partition) => partition.leaveRecordOrder()],
    [
      'an attempt is not about to begin again',
      scanned,
      (partition) => {
        partition.startLeaving();
        partition.start(1n);
      },
    ],
  ])('%s', (rule, of, change) => {
    const partition = of();
    const text = broken(() => change(partition));
    // One rule of a waiting partition covers both what it is and what it is about to become.
    const named = rule === 'an attempt is not about to begin again' ? 'only a waiting one is started' : rule;
    expect(text).toMatch(/^internalError: A rule of partitions is broken: /);
    expect(text).toContain(named);
  });

  it('says in which state the partition is, and no value of it', () => {
    expect(broken(() => closing().close())).toContain('This one is copying, closing.');
  });
});

describe('a partition keeps its rules', () => {
  it('through an attempt that is abandoned, and one that is split and done', () => {
    const partition = copying();
    partition.markDirty();
    partition.wrote(2, 20);
    partition.buffer(changeOf(1, 11n));
    expect(partition.abandon()).toHaveLength(1);
    partition.raiseDropped(11n);
    bringTo(partition, 'copying', 11n);
    partition.wrote(3, 30);
    const rest = partition.splitAt(rawOf(5), true);
    for (const each of [partition, rest]) each.endReading(13n);
    partition.close();
    partition.finish();
    expect([partition.state, partition.dirty, partition.documents]).toEqual(['done', false, 3]);
    expect([rest.state, rest.dirty, rest.readTime]).toEqual(['waiting', true, 11n]);
  });

  it('when it is copied again', () => {
    const partition = reopening();
    partition.reopen(15n);
    partition.finishReopening();
    expect([partition.state, partition.dirty, partition.dropped]).toEqual(['waiting', true, 15n]);
    bringTo(partition, 'done', 15n);
    expect(partition.state).toBe('done');
  });

  it('in pieces, and when it leaves record order', () => {
    const partition = scanned();
    bringTo(partition, 'copying', 10n);
    partition.markDirty();
    partition.wrote(1, 10);
    partition.endReading(11n);
    partition.endPiece([{ $recordId: 1 }]);
    partition.startLeaving();
    expect(partition.stored()).toMatchObject({ state: 'waiting', dirty: true });
    partition.leaveRecordOrder();
    expect([partition.scan, partition.dirty, partition.documents]).toEqual([null, true, 0]);
  });
});
