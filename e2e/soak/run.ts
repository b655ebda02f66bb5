import { parseArgs } from 'node:util';
import { realSoak } from './real/real-soak.js';
import { soak } from './soak.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    histories: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    ddlChanges: { type: 'string', default: 'some' },
    moves: { type: 'boolean', default: false },
    'to-replica-set': { type: 'boolean', default: false },
    'time-series': { type: 'boolean', default: false },
    real: { type: 'boolean', default: false },
    members: { type: 'string', default: '1' },
  },
});
const isOne = values.path !== undefined || (values.minutes === undefined && values.seed !== undefined);

/** With processes, on servers and in real time; otherwise in one process and in virtual time. */
const play = values.real ? realSoak : soak;

process.exitCode = await play({
  limit_ms: values.minutes === undefined ? Number.MAX_SAFE_INTEGER : Number(values.minutes) * 60_000,
  historiesMax: values.histories === undefined ? (isOne ? 1 : Infinity) : Number(values.histories),
  seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed),
  path: values.path ?? null,
  ddlChanges: { yes: true, no: false }[values.ddlChanges] ?? null,
  moves: values.moves,
  toReplicaSet: values['to-replica-set'],
  timeSeries: values['time-series'],
  verbose: values.verbose,
  keepsGoing: values['keep-going'],
  members: Number(values.members),
});
