import { type Row, withGoal } from '../benchmark.js';
import type { CopyResult, EngineResult } from './copy-result.js';
import type { LoopConcurrency } from './loop-order.js';

/** Required part of the bare loop's throughput. */
const ofBareLoopMin = 0.95;
/** Required gain of raw bytes over decoded documents, at the promised size. */
const overDecodingMin = 1.4;
const cpuOfDecodingMax = 0.5;
/** Promised peak for an instance with the default buffer limit. */
const memoryMegabytesMax = 300;

/** The copies of documents of one size, in the order of the rounds. */
export interface SizeMeasured {
  /** For example `1 kB`. */
  name: string;
  bytes: number;
  documents: number;
  sweep: { concurrency: LoopConcurrency; result: CopyResult }[];
  raw: CopyResult[];
  engine: EngineResult[];
  decoded: CopyResult[];
  /** Whether the goals against decoding apply to this size. */
  promisesOverDecoding: boolean;
}

/** The table of one size: medians of the rounds, and the highest peaks. */
export function sizeRows(measured: SizeMeasured): Row[] {
  const { name, bytes, engine, raw, decoded } = measured;
  const engineSpeed = megabytesPerSecond(bytes, engine);
  const withStart = engine.map((result) => ({
    ...result,
    seconds: result.seconds + result.initialisation_seconds,
    cpu_seconds: result.cpu_seconds + result.initialisationCpu_seconds,
  }));
  const row = (subject: string, metric: string, value: number, unit: string): Row => ({
    case: `${name} ${subject}`,
    metric,
    value,
    unit,
  });
  const overDecoding = row(
    'engine',
    'throughput of decoding copy',
    engineSpeed / megabytesPerSecond(bytes, decoded),
    '×',
  );
  const cpuOfDecoding = row(
    'engine',
    'CPU per GB of decoding copy',
    median(engine, cpuOf) / median(decoded, cpuOf),
    '×',
  );
  return [
    row('of each copy', 'data', bytes / 1e6, 'MB'),
    ...measured.sweep.map(({ concurrency, result }) =>
      row(
        'bare loop',
        `${concurrency.readersPerShard} readers a shard, ${concurrency.writesPerReader} writes each`,
        megabytesPerSecond(bytes, [result]),
        'MB/s',
      ),
    ),
    ...copyRows(`${name} bare loop`, measured, raw),
    ...copyRows(`${name} decoding copy`, measured, decoded),
    ...copyRows(`${name} engine`, measured, engine),
    row(
      'engine',
      'initialisation',
      median(engine, ({ initialisation_seconds }) => initialisation_seconds),
      's',
    ),
    row('engine', 'throughput with initialisation', megabytesPerSecond(bytes, withStart), 'MB/s'),
    row('engine', 'CPU with initialisation', (median(withStart, cpuOf) / bytes) * 1e9, 's/GB'),
    withGoal(
      row('engine', 'throughput of bare loop', engineSpeed / megabytesPerSecond(bytes, raw), '×'),
      '>=',
      ofBareLoopMin,
    ),
    measured.promisesOverDecoding ? withGoal(overDecoding, '>=', overDecodingMin) : overDecoding,
    measured.promisesOverDecoding ? withGoal(cpuOfDecoding, '<=', cpuOfDecodingMax) : cpuOfDecoding,
    withGoal(row('engine', 'peak memory of an instance', peakMegabytes(engine), 'MB'), '<=', memoryMegabytesMax),
  ];
}

function copyRows(subject: string, { bytes, documents }: SizeMeasured, results: readonly CopyResult[]): Row[] {
  const seconds = median(results, (result) => result.seconds);
  return [
    { case: subject, metric: 'throughput', value: bytes / 1e6 / seconds, unit: 'MB/s' },
    { case: subject, metric: 'documents', value: documents / seconds, unit: '1/s' },
    { case: subject, metric: 'CPU', value: (median(results, cpuOf) / bytes) * 1e9, unit: 's/GB' },
    { case: subject, metric: 'peak memory of a process', value: peakMegabytes(results), unit: 'MB' },
  ];
}

const cpuOf = ({ cpu_seconds }: CopyResult): number => cpu_seconds;

function megabytesPerSecond(bytes: number, results: readonly CopyResult[]): number {
  return bytes / 1e6 / median(results, ({ seconds }) => seconds);
}

function peakMegabytes(results: readonly CopyResult[]): number {
  return Math.max(...results.map(({ peakMemoryBytes }) => peakMemoryBytes)) / 1e6;
}

/** The middle value, the lower one of two. */
export function median<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  const sorted = items.map(valueOf).sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new RangeError('a median of no values');
  return middle;
}
