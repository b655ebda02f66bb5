import { expect, test } from 'vitest';
import { hasOpenssl } from '../packages/api/test/unit/http/test-authority.js';
import { Clusters, defaultStart, untilCanCommit } from './fleet.js';
import { startReceiver } from './receiver.js';
import { needs } from './requirements.js';

test(
  'two coordinators of a fleet send ready and committed once each, also after one was restarted (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
    const { receiver, notify, events } = await startReceiver();
    await using fleet = await clusters.startFleet();
    await using first = await clusters.startCoordinator(fleet, 'first', { notify });
    await using second = await clusters.startCoordinator(fleet, 'second', { notify });

    await first.client.start(defaultStart);
    await untilCanCommit(first.client);
    await expect.poll(events, { timeout: 60_000 }).toEqual(['ready']);
    await second.stop();
    await second.startAgain();
    await clusters.commit(second.client);
    await expect.poll(events, { timeout: 60_000 }).toEqual(['ready', 'committed']);
    await Promise.all([first.stop(), second.stop()]);

    expect(events()).toEqual(['ready', 'committed']);
    expect(receiver.arrivals).toMatchObject([
      { isSigned: true, body: { fleet: fleet.name, state: 'RUNNING' } },
      { isSigned: true, body: { fleet: fleet.name, state: 'COMMITTED' } },
    ]);
  },
);

// With openssl the lone instance that has TLS sends them in every run.
const ofLone = needs({ version: [5, 0], inFull: hasOpenssl });
test('a lone instance sends its own notifications (servers from 5.0)', ofLone, async () => {
  await using clusters = await Clusters.little({ source: 'replicaSet', destination: 'replicaSet' });
  const { notify, events } = await startReceiver();
  await using instance = await clusters.startLoneInstance({ notify });

  await instance.client.start(defaultStart);
  await untilCanCommit(instance.client);
  await expect.poll(events, { timeout: 60_000 }).toEqual(['ready']);
  await clusters.commit(instance.client);
  await expect.poll(events, { timeout: 60_000 }).toEqual(['ready', 'committed']);
  await expect
    .poll(async () => (await fetch(`${instance.url}/metrics`)).text(), { timeout: 60_000 })
    .toContain('convoy_notifications_total{event="committed",result="sent"} 1');
});
