import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { FleetDirector } from '@convoy/coordinator/director/fleet-director';
import { stagedPreflight } from './staged-details.js';

type Listing = PublishedDetails['sourceListing'];
type Report = NonNullable<PublishedDetails['startCheck']['report']>;

/** A source before a start. */
export function stagedListing(
  kind: 'sharded' | 'replicaSet' = 'sharded',
): Pick<Listing, 'clusters' | 'rows' | 'unlisted'> {
  return {
    clusters: {
      source: { name: 'cluster0', kind, shards: kind === 'sharded' ? 3 : 1, version: '7.0.5', blocksWrites: true },
      destination: { name: 'cluster1', kind: 'sharded', shards: 4, version: '7.0.5', blocksWrites: true },
    },
    rows: Array.from({ length: 214 }, (_, at) => ({
      database: ['shop', 'billing', 'analytics'][at % 3] ?? '',
      collection: `collection_${at}`,
      totalBytes: Math.round(3e10 / (at + 1)),
      documents: Math.round(40_000 / (at + 1)),
    })),
    unlisted: 0,
  };
}

/** Checks of a start, with a warning, and a refusal while the verifier is on. */
export function stagedReport(verifies: boolean): Report {
  const { items, at_ms } = stagedPreflight(Date.now());
  return {
    at_ms,
    canStart: !verifies,
    items: [
      ...items,
      {
        check: 'verification',
        result: verifies ? 'failed' : 'passed',
        error: verifies ? 'verificationMemoryInsufficient' : null,
        description: verifies
          ? 'The verifier needs 1.2 GB more memory. Raise memoryBytesMax, or turn verification off.'
          : 'The verifier is off.',
      },
    ],
  };
}

/** The command for which a fleet waits, as the coordinator that sent it remembers it. */
export function stagedCommands(reports: readonly InstanceReport[]): ReturnType<FleetDirector['commands']> {
  const [waiting] = reports[0]?.progress.waitingFor ?? [];
  if (waiting === undefined) return [];
  return [
    {
      commandId: 'staged',
      at_ms: Date.now(),
      name: waiting.command,
      success: true,
      results: new Map(reports.map(({ identity }) => [identity.id, { success: true }])),
      waitingFor: [waiting.instance],
    },
  ];
}
