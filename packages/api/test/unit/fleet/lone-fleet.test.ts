import { describe, expect, it } from 'vitest';
import { LoneFleet } from '../../../src/fleet/lone-fleet.js';
import { idleReport } from '../../../src/fleet/idle-report.js';
import { describeFleet, makeIdentity } from './fleet-behaviour.js';

describeFleet('LoneFleet', () => new LoneFleet());

describe('LoneFleet', () => {
  it('reads the given clock', async () => {
    const fleet = new LoneFleet(() => 1_000);
    const identity = makeIdentity('single');
    await fleet.join(identity);
    fleet.report(idleReport(identity));
    expect(fleet.reports().get('single')?.reportedAt_ms).toBe(1_000);
  });
});
