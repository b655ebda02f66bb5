import { describe, expect, it } from 'vitest';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { scrapeFleet } from '../../../src/server/fleet-metrics.js';
import { type ReportChanges, snapshot } from '../director/snapshots.js';

const scrape = async (instances: Readonly<Record<string, ReportChanges>>): Promise<string[]> =>
  (await scrapeFleet(aggregateProgress(snapshot(instances), null))).split('\n');

describe('scrapeFleet', () => {
  it('has metrics of the fleet and its instances', async () => {
    const lines = await scrape({
      a: { progress: { lagTimeSeconds: 4, collectionCopy: { estimatedTotalBytes: 10, estimatedCopiedBytes: 5 } } },
      b: { fresh: false, progress: { lagTimeSeconds: 2 } },
    });
    expect(lines).toEqual(
      expect.arrayContaining([
        'convoy_fleet_instances 2',
        'convoy_fleet_lag_seconds 4',
        'convoy_fleet_copied_bytes 5',
        'convoy_fleet_state{state="RUNNING"} 1',
        'convoy_fleet_state{state="IDLE"} 0',
        'convoy_instance_reachable{id="a"} 1',
        'convoy_instance_reachable{id="b"} 0',
        'convoy_instance_lag_seconds{id="b"} 2',
      ]),
    );
  });

  it('omits unknown values', async () => {
    const text = (await scrape({ a: { state: 'IDLE' } })).join('\n');
    expect(text).not.toContain('convoy_fleet_lag_seconds');
    expect(text).toContain('convoy_fleet_state{state="IDLE"} 1');
  });
});
