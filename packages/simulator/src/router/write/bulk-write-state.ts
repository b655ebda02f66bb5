import type { CommandRequest } from '../../node/command.js';
import type { RouterContext } from '../router-context.js';
import type { WriteOutcome } from './write-outcome.js';
import type { WriteKind } from './write-statements.js';

/** One bulk write in progress. */
export interface BulkWrite {
  readonly context: RouterContext;
  readonly request: CommandRequest;
  readonly kind: WriteKind;
  readonly namespace: string;
  readonly statements: readonly Uint8Array[];
  readonly ordered: boolean;
  readonly outcome: WriteOutcome;
  /** True where the statements are about measurements, not about the buckets of the namespace. */
  readonly isOfSeries: boolean;
}
