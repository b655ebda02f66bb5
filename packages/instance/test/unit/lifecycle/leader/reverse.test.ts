import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expect, it } from 'vitest';
import { swapWhenRequested } from '../../../../src/lifecycle/leader/reverse.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith } from '../../model/deps-with.js';
import { metadataIn, MetadataModel } from '../../model/metadata-model.js';
import { reversalWith, viewWith } from '../../model/migration-state.js';
import { never } from '../../model/parts.js';

/**
 * A leader that finds a reason against the swap.
 * @param isDeposed whether another instance leads by then, which swaps the clusters a moment later
 */
function swap(isDeposed: boolean): Promise<void> {
  const view = viewWith({ phase: 'committed', taskIds: [], reversal: reversalWith({ isOver: true }) });
  const cluster = fakeCluster({ router: clientWith({}) });
  const deps = depsWith({
    source: cluster,
    destination: cluster,
    metadata: metadataIn(new MetadataModel()),
    runtime: {
      logger: { info: () => undefined },
      clock: { sleep: () => Promise.resolve(void (view.record.reversal = reversalWith({ turns: 1 }))) },
    },
    fleet: { isLeader: () => true },
    watch: { view, until: () => Promise.resolve(view), refresh: () => Promise.resolve(view) },
    records: {
      takeLeaderEpoch: () => Promise.resolve(1),
      confirmLeader: () => (isDeposed ? Promise.reject(new ConvoyError('staleEpoch')) : Promise.resolve()),
    },
  });
  return swapWhenRequested(deps, never);
}

it('what a deposed leader finds against a swap fails nobody', async () => {
  await swap(true);
});

it('what the present leader finds against a swap is a failure', async () => {
  await expect(swap(false)).rejects.toMatchObject({ error: 'notReversible' });
});
