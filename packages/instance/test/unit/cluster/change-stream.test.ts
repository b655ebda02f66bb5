import { describe, expect, it } from 'vitest';
import { StreamWatch } from '../../../src/cluster/change-stream.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Waits } from '../../../src/cluster/calls-in-flight.js';
import { batchOf } from '../model/calls.js';
import { tokenOf } from '../model/change-events.js';
import { bytesOf } from '../model/parts.js';

const wait = { from: 'cluster0 router', what: 'the change stream' };
const at = (seconds: number): bigint => BigInt(seconds) << 32n;

/** A stream that is read every second, and what it shows. */
class Followed {
  now_ms = 0;
  readonly reopened: number[] = [];
  readonly waits = new Waits(() => this.reopened.push(this.now_ms / 1_000));
  readonly watch = new StreamWatch({ clock: { monotonic_ms: () => this.now_ms }, waits: this.waits }, wait, at(1_000));

  /** One reply, after a second: where the stream and its cluster are. */
  reply(stream_seconds: number, cluster_seconds: number, documents: Uint8Array[] = []): boolean {
    this.watch.asked();
    this.now_ms += 1_000;
    const times = { resumeToken: tokenOf(at(stream_seconds)), operationTime: timestampOf(at(cluster_seconds)) };
    return this.watch.answered(batchOf(documents, times));
  }

  /** Replies of a stream that stays where it is, while its cluster goes on by a second each. */
  stand(replies: number, from_seconds: number): void {
    for (let second = 1; second <= replies; second += 1) this.reply(from_seconds, from_seconds + second);
  }
}

describe('a change stream', () => {
  it('that stands still while its cluster goes on is opened anew after 20 s, and named before', () => {
    const stream = new Followed();
    stream.reply(1_001, 1_001);
    stream.stand(15, 1_001);
    expect([stream.reopened, stream.waits.present]).toEqual([[], []]);
    stream.stand(4, 1_016);
    expect(stream.waits.present).toEqual([]);
    const frozen = new Followed();
    frozen.reply(1_001, 1_001);
    for (let second = 1; second <= 30; second += 1) frozen.reply(1_001, 1_001 + second);
    // It counts from where it is five seconds behind.
    expect(frozen.reopened).toEqual([1 + 4 + 20]);
    expect(frozen.waits.present).toEqual([wait]);
    frozen.reply(1_031, 1_031);
    expect(frozen.waits.present).toEqual([]);
  });

  it('of an idle cluster is left alone, and so is one that is shown something now and then', () => {
    const idle = new Followed();
    for (let second = 0; second < 1_000; second += 1) idle.reply(1_001, 1_001);
    const noted = new Followed();
    for (let second = 0; second < 1_000; second += 1) noted.reply(1_000 + second - (second % 10), 1_000 + second);
    const busy = new Followed();
    // A transaction of many events has one time.
    for (let second = 0; second < 1_000; second += 1) busy.reply(1_001, 1_001 + second, [bytesOf({ a: 1 })]);
    expect([idle.reopened, noted.reopened, busy.reopened]).toEqual([[], [], []]);
  });

  it('that is in vain opened anew is so less and less often', () => {
    const stream = new Followed();
    stream.reply(1_001, 1_001);
    for (let second = 1; second <= 700; second += 1) stream.reply(1_001, 1_001 + second);
    const pauses = stream.reopened.map((when, index) => when - (stream.reopened[index - 1] ?? 5));
    expect(pauses).toEqual([20, 40, 80, 160, 320]);
    // What it shows at last counts: the next time it is opened anew as soon as at first.
    stream.reply(1_701, 1_701);
    stream.reopened.length = 0;
    for (let second = 1; second <= 30; second += 1) stream.reply(1_701, 1_701 + second);
    expect(stream.reopened).toEqual([702 + 4 + 20]);
  });

  it('that is far behind may be silent longer: its server reads the oplog', () => {
    const stream = new Followed();
    for (let second = 0; second < 119; second += 1) stream.reply(1_000, 90_000 + second);
    expect(stream.reopened).toEqual([]);
    for (let second = 0; second < 10; second += 1) stream.reply(1_000, 91_000 + second);
    expect(stream.reopened).toEqual([120]);
  });

  it('does not stand still while nobody asks for its events', () => {
    const stream = new Followed();
    stream.reply(1_001, 1_001);
    for (let turn = 0; turn < 5; turn += 1) {
      stream.now_ms += 600_000;
      stream.reply(1_001, 1_601);
    }
    expect(stream.reopened).toEqual([]);
  });

  it('is not named any more once nobody reads it', () => {
    const stream = new Followed();
    stream.reply(1_001, 1_001);
    for (let second = 1; second <= 18; second += 1) stream.reply(1_001, 1_001 + second);
    expect(stream.waits.present).toEqual([wait]);
    stream.watch.close();
    expect(stream.waits.present).toEqual([]);
  });
});
