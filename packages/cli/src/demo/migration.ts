import type { ContractClient } from '@convoy/api/client/contract-client';
import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import { follow } from '../environment/fleet/follow.js';

/** Time limits for a hanging demo; a normal one takes well below three minutes. */
export const demoLimits_ms = { copy: 900_000, catchUp: 300_000, commit: 300_000 } as const;

/** Stats collected during the migration. */
export interface MigrationStats {
  /** Copied bytes as reported by the fleet. */
  copiedBytes: number;
  eventsApplied: number;
  lagMax_seconds: number;
}

/** Follows a migration over the fleet API. */
export class Migration {
  readonly stats: MigrationStats = { copiedBytes: 0, eventsApplied: 0, lagMax_seconds: 0 };

  constructor(
    private readonly client: ContractClient,
    private readonly show: (progress: FleetProgress) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Shows progress until a condition holds; see `follow`. */
  follow(what: string, limit_ms: number, until: (progress: FleetProgress) => boolean): Promise<FleetProgress> {
    const read = async () => (await this.client.fleetProgress({ signal: this.signal })).progress;
    const show = (progress: FleetProgress) => {
      this.note(progress);
      this.show(progress);
    };
    return follow(read, { what, limit_ms, until, show, signal: this.signal });
  }

  private note(progress: FleetProgress): void {
    this.stats.copiedBytes = Math.max(this.stats.copiedBytes, progress.collectionCopy?.estimatedCopiedBytes ?? 0);
    this.stats.eventsApplied = Math.max(this.stats.eventsApplied, progress.totalEventsApplied ?? 0);
    this.stats.lagMax_seconds = Math.max(this.stats.lagMax_seconds, progress.lagTimeSeconds ?? 0);
  }
}
