import { describe, expect, it } from 'vitest';
import { median, sizeRows } from '../../../../src/bench/copy/copy-rows.js';
import { rangesOf } from '../../../../src/bench/copy/loop-order.js';

const loop = (seconds: number, cpu_seconds: number) => ({ seconds, cpu_seconds, peakMemoryBytes: 1e8 });
const engine = (seconds: number, cpu_seconds: number) => ({
  ...loop(seconds, cpu_seconds),
  initialisation_seconds: 1,
  initialisationCpu_seconds: 0.5,
  peakMemoryBytes: 2.5e8,
});

describe('rows of the copy benchmark', () => {
  const rows = sizeRows({
    name: '1 kB',
    bytes: 100e6,
    documents: 100_000,
    sweep: [{ concurrency: { readersPerShard: 2, writesPerReader: 3 }, result: loop(2, 1) }],
    raw: [loop(2, 1), loop(9, 1), loop(2, 1)],
    engine: [engine(2.5, 1), engine(2, 1.5), engine(8, 1.2)],
    decoded: [loop(4, 3), loop(4, 3), loop(4, 3)],
    promisesOverDecoding: true,
  });
  const row = (name: string, metric: string) => rows.find((each) => each.case === name && each.metric === metric);

  it('compare medians of the rounds', () => {
    expect(row('1 kB bare loop', 'throughput')?.value).toBe(50);
    expect(row('1 kB engine', 'throughput of bare loop')).toMatchObject({ value: 0.8, goal: '>= 0.95', met: false });
    expect(row('1 kB engine', 'throughput of decoding copy')).toMatchObject({ value: 1.6, met: true });
    expect(row('1 kB engine', 'CPU per GB of decoding copy')).toMatchObject({
      value: expect.closeTo(0.4) as number,
      met: true,
    });
  });

  it('show the sweep, the initialisation and the highest peak', () => {
    expect(row('1 kB bare loop', '2 readers a shard, 3 writes each')?.value).toBe(50);
    expect(row('1 kB engine', 'throughput with initialisation')?.value).toBeCloseTo(100 / 3.5);
    expect(row('1 kB engine', 'peak memory of an instance')).toMatchObject({ value: 250, met: true });
  });
});

describe('medians and ranges', () => {
  it('use the middle value, the lower one of two', () => {
    expect(median([3, 1, 2], (value) => value)).toBe(2);
    expect(median([4, 1], (value) => value)).toBe(1);
    expect(() => median([], Number)).toThrow(RangeError);
  });

  it('cover all documents once', () => {
    expect(rangesOf(10, 3)).toEqual([
      [0, 3],
      [3, 6],
      [6, 10],
    ]);
  });
});
