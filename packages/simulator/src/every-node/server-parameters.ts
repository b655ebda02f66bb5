import { Int32, Long } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { doc, numberOf } from '../node/doc-fields.js';
import type { NodeIdentity } from './node-identity.js';

/** Fields every command may carry beside its own. */
const generic: ReadonlySet<string> = new Set([
  '$db',
  '$clusterTime',
  'lsid',
  '$readPreference',
  'comment',
  'maxTimeMS',
  'writeConcern',
  'readConcern',
]);

/**
 * Whether the coordinator of a transaction answers once its decision is durable, before all participants have
 * committed.
 */
export const answerAtDecisionParameter = 'coordinateCommitReturnImmediatelyAfterPersistingDecision';

/** The server parameters of one node that clients or tests use. */
export class ServerParameters {
  readonly #values = new Map<string, Value>([
    ['internalQueryMaxBlockingSortMemoryUsageBytes', new Int32(104_857_600)],
    ['cursorTimeoutMillis', Long.fromInt(600_000)],
    ['logLevel', new Int32(0)],
  ]);

  /** Called with every number that is set. */
  onChange: (name: string, value: number) => void = () => undefined;

  constructor(private readonly identity: Pick<NodeIdentity, 'kind' | 'deployment'>) {
    const { kind, deployment } = identity;
    if (kind === 'router') return;
    // Since 5.0; 5.0.10 and 6.0 turned it off (SERVER-63971).
    if (deployment.version.atLeast(5)) this.#values.set(answerAtDecisionParameter, !deployment.version.atLeast(6));
    this.#values.set('notablescan', false);
    this.#values.set('periodicNoopIntervalSecs', new Int32(1));
    this.#values.set('minSnapshotHistoryWindowInSeconds', new Int32(300));
    this.#values.set('transactionLifetimeLimitSeconds', new Int32(60));
    this.#values.set('ttlMonitorSleepSecs', new Int32(60));
    this.#values.set('ttlMonitorEnabled', true);
    this.#values.set('orphanCleanupDelaySecs', new Int32(900));
    this.#values.set('migrationLockAcquisitionMaxWaitMS', new Int32(500));
  }

  value(name: string): Value | undefined {
    if (name === 'featureCompatibilityVersion') return this.#compatibility();
    return this.#values.get(name);
  }

  /** A router has none of its own; those of 8.0 know that of the cluster. */
  #compatibility(): Value | undefined {
    const { kind, deployment } = this.identity;
    return kind === 'router' && !deployment.version.atLeast(8, 0)
      ? undefined
      : doc(['version', deployment.featureCompatibilityVersion]);
  }

  /** `getParameter` of the named ones, or of all with `"*"`. */
  get(body: Doc): Doc {
    const all = body.get('getParameter') === '*';
    const names = all
      ? ['featureCompatibilityVersion', ...this.#values.keys()]
      : [...body.keys()].slice(1).filter((name) => !generic.has(name));
    const found = names.flatMap((name): [string, Value][] => {
      const value = this.value(name);
      return value === undefined ? [] : [[name, value]];
    });
    const [code, codeName] = this.identity.deployment.version.atLeast(8, 0)
      ? ([72, 'InvalidOptions'] as const)
      : ([0, ''] as const);
    if (found.length === 0) throw new CommandError(code, codeName, 'no option found to get');
    return new Map(found);
  }

  /** `setParameter`: returns the previous value. */
  set(body: Doc): Doc {
    const [name, value] = [...body].slice(1).find(([field]) => !generic.has(field)) ?? [];
    if (name === undefined || value === undefined)
      throw new CommandError(0, '', 'no option found to set, use help:true to see options ');
    const was = this.#values.get(name);
    if (was === undefined)
      throw new CommandError(0, '', `attempted to set unrecognized parameter [${name}], use help:true to see options `);
    const number = typeof value === 'boolean' ? Number(value) : numberOf(value);
    if (name === 'ttlMonitorSleepSecs' && number !== undefined && number < 1) {
      throw new CommandError(2, 'BadValue', `Invalid value for parameter ${name}: ${number} is not greater than 0`);
    }
    this.#values.set(name, typeof was === 'boolean' && number !== undefined ? number !== 0 : value);
    if (number !== undefined) this.onChange(name, number);
    return doc(['was', was]);
  }
}
