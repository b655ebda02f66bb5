import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document, Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ChangeStreamReader } from '../../../src/apply/change-stream-reader.js';
import type { StreamPatience } from '../../../src/store/change-event.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { CallOptions, NodeClient, RawBatch } from '../../../src/cluster/node-client.js';
import { batchOf, serverError } from '../model/calls.js';
import { tokenOf } from '../model/change-events.js';
import { bytesOf, never, once, times } from '../model/parts.js';
import { second, standingPlace } from '../model/standing-place.js';
import { clientWith } from '../model/client-with.js';

const unawaited: StreamPatience = { isAwaited: () => false, isIdle: () => false };
const opened: Document[] = [];
const waits_ms: (number | undefined)[] = [];
const batchSizes: (number | undefined)[] = [];

/** A client whose cursors answer from the list: a batch, or an error. */
function clientOf(answers: (Partial<RawBatch> | Error)[]): NodeClient {
  opened.length = 0;
  waits_ms.length = 0;
  batchSizes.length = 0;
  const next = ({ maxTime_ms, batchDocumentsMax }: CallOptions): Promise<RawBatch> => {
    waits_ms.push(maxTime_ms);
    batchSizes.push(batchDocumentsMax);
    const answer = answers.shift() ?? {};
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(batchOf(answer.documents ?? [], answer));
  };
  const openCursor = (
    _database: string,
    command: Document,
  ): Promise<{ first: RawBatch; open: boolean; next: typeof next; close: () => Promise<void> }> => {
    opened.push(command);
    return Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() });
  };
  return clientWith({ label: 'shard', openCursor });
}

function startOf(command: Document | undefined): bigint {
  const [stage] = command?.pipeline as { $changeStream: { startAtOperationTime: Timestamp } }[];
  return stage?.$changeStream.startAtOperationTime.toBigInt() ?? 0n;
}

describe("a shard's change stream", () => {
  it("returns batches with the time of their token and the source's operation time", async () => {
    const document = bytesOf({ a: 1 });
    const stream = new ChangeStreamReader(
      clientOf([{ documents: [document], resumeToken: tokenOf(20n), operationTime: timestampOf(25n) }]),
      [5, 0, 7],
      once,
      10n,
      unawaited,
    );
    expect(await stream.next(never)).toEqual({ events: [], readBelow: 10n, sourceTime: 0n, reopened: false });
    expect(await stream.next(never)).toEqual({ events: [document], readBelow: 20n, sourceTime: 25n, reopened: false });
    expect(startOf(opened[0])).toBe(10n);
  });

  it("measures the source by its primary's time when the answering member is behind", async () => {
    const behind = { operationTime: timestampOf(25n), primaryTime: timestampOf(90n) };
    const level = { operationTime: timestampOf(95n), primaryTime: timestampOf(90n) };
    const stream = new ChangeStreamReader(clientOf([behind, level]), [5, 0, 7], once, 10n, unawaited);
    await stream.next(never);
    expect((await stream.next(never)).sourceTime).toBe(90n);
    expect((await stream.next(never)).sourceTime).toBe(95n);
  });

  it('never goes back; resumes by time after a lost cursor and reports that events repeat', async () => {
    const stream = new ChangeStreamReader(
      clientOf([{ resumeToken: tokenOf(20n) }, { resumeToken: tokenOf(15n) }, serverError(43)]),
      [5, 0, 7],
      times(2),
      10n,
      unawaited,
    );
    await stream.next(never);
    await stream.next(never);
    expect((await stream.next(never)).readBelow).toBe(20n);
    expect(await stream.next(never)).toMatchObject({ readBelow: 20n, reopened: true });
    expect(await stream.next(never)).toMatchObject({ reopened: false });
    expect(opened.map(startOf)).toEqual([10n, 20n]);
  });

  it('is opened anew where it continues when it stands still beside its cluster, and is named before', async () => {
    const place = standingPlace();
    const shown = { documents: [bytesOf({ a: 1 })], resumeToken: tokenOf(20n << 32n), operationTime: second(20n) };
    // A router has only its own time and its last token for a shard that does not answer.
    const standing = { resumeToken: tokenOf(20n << 32n), operationTime: second(50n) };
    const answers = [shown, ...Array.from({ length: 20 }, () => standing), { resumeToken: tokenOf(60n << 32n) }];
    const stream = new ChangeStreamReader(clientOf(answers), [7, 0, 0], once, 10n << 32n, unawaited, place);
    const steps = [];
    for (let step = 0; step < 12; step += 1) steps.push(await stream.next(never));
    expect([opened.length, place.waits.present]).toEqual([1, []]);
    for (let step = 0; step < 6; step += 1) steps.push(await stream.next(never));
    expect(place.waits.present).toEqual([{ from: 'shard', what: 'the change stream' }]);
    for (let step = 0; step < 6; step += 1) steps.push(await stream.next(never));
    expect(opened.map(startOf)).toEqual([10n << 32n, 20n << 32n]);
    expect(steps.filter(({ reopened }) => reopened)).toEqual([
      { events: [], readBelow: 20n << 32n, sourceTime: 0n, reopened: true },
    ]);
    expect(steps.at(-1)).toMatchObject({ readBelow: 60n << 32n });
    expect(place.waits.present).toEqual([]);
  });

  it('advances with the tokens of empty batches', async () => {
    const stream = new ChangeStreamReader(clientOf([{ resumeToken: tokenOf(20n) }]), [5, 0, 7], once, 10n, unawaited);
    await stream.next(never);
    expect(await stream.next(never)).toMatchObject({ events: [], readBelow: 20n });
  });

  it('asks for batches of about 1 MiB', async () => {
    const documents = [bytesOf({ a: 1 })];
    const stream = new ChangeStreamReader(
      clientOf([{ documents, bytes: 2 ** 19 }, { documents, bytes: 2 ** 24 }, {}, { documents, bytes: 20 }]),
      [5, 0, 7],
      once,
      10n,
      unawaited,
    );
    for (let step = 0; step < 6; step += 1) await stream.next(never);
    expect(batchSizes).toEqual([100, 2, 1, 1, 2_000]);
  });

  it('waits briefly for events until it has passed its start, which the copy needs', async () => {
    const stream = new ChangeStreamReader(
      clientOf([{}, { resumeToken: tokenOf(20n) }, {}]),
      [5, 0, 7],
      once,
      10n,
      unawaited,
    );
    for (let step = 0; step < 4; step += 1) await stream.next(never);
    expect(waits_ms).toEqual([10, 10, 200]);
  });

  it('waits longer for events while all tasks are idle, and briefly while a commit waits for the shard', async () => {
    let [isAwaited, isIdle] = [false, false];
    const stream = new ChangeStreamReader(clientOf([{ resumeToken: tokenOf(20n) }]), [5, 0, 7], once, 10n, {
      isAwaited: () => isAwaited,
      isIdle: () => isIdle,
    });
    await stream.next(never);
    await stream.next(never);
    for ([isAwaited, isIdle] of [
      [false, false],
      [false, true],
      [true, true],
      [true, false],
      [false, false],
    ] as const)
      await stream.next(never);
    expect(waits_ms).toEqual([10, 200, 1000, 50, 50, 200]);
  });

  it('ends by name when the oplog no longer reaches back', async () => {
    const stream = new ChangeStreamReader(
      clientOf([serverError(286)]),
      [5, 0, 7],
      once,
      1_700_000_000n << 32n,
      unawaited,
    );
    await stream.next(never);
    const error = await stream.next(never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConvoyError);
    expect(error).toMatchObject({ error: 'oplogHistoryLost' });
    expect((error as ConvoyError).errorDescription).toContain('2023-11-14T22:13:20.000Z');
  });
});
