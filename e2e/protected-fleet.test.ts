import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { convoyProgram, listensLine, listensWithin_ms } from '@convoy/cli/environment/fleet/convoy-program';
import { Child } from '@convoy/testbed/process/child';
import { hasOpenssl, TestAuthority } from '../packages/api/test/unit/http/test-authority.js';
import { runCommand as convoy } from '../packages/cli/test/command-host.js';
import { Clusters } from './fleet.js';
import { startReceiver } from './receiver.js';
import { needs } from './requirements.js';

const fleetSecret = 'a-secret-of-the-fleet-with-many-letters';
const token = 'a-token-of-many-letters';

/** Writes a text where only the flag's file shows it. */
function fileOf({ folder }: TestAuthority, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The metrics of a service whose certificate an authority has issued. */
async function metricsOf(url: string, { caFile }: TestAuthority): Promise<string> {
  const [response] = (await once(get(`${url}/metrics`, { ca: readFileSync(caFile) }), 'response')) as [IncomingMessage];
  return text(response);
}

test.skipIf(!hasOpenssl)(
  'a signed fleet whose coordinator has TLS and a token migrates by the command line, and obeys nobody without the ' +
    'secret (openssl, servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    using authority = new TestAuthority();
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
    await using fleet = await clusters.startFleetHere({ fleetSecret });
    const tls = authority.issue('api');
    await using coordinator = await clusters.startCoordinator(fleet, 'protected', { fleetSecret, tls, token });
    const { url } = coordinator;
    expect(url).toMatch(/^https:/);
    const trust = ['--ca-file', authority.caFile];
    const service = ['--url', url, ...trust, '--token-file', fileOf(authority, 'token', token)];

    expect(await convoy('progress', '--url', url)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^tlsFailed: /) as string,
    });
    expect(await convoy('progress', '--url', url, ...trust)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^unauthorized: /) as string,
    });
    await expect
      .poll(() => convoy('progress', ...service), { timeout: 60_000, interval: 500 })
      .toMatchObject({ code: 0, stdout: expect.stringMatching(/^IDLE\n/) as string });
    // The fleet's other coordinator has no secret: it hears nobody, and nobody hears it.
    const outside = ['--url', fleet.coordinator.url];
    expect(await convoy('start', ...outside)).toMatchObject({ code: 1, stdout: '' });
    expect(await convoy('progress', ...service)).toMatchObject({ stdout: expect.stringMatching(/^IDLE\n/) as string });

    expect(await convoy('start', '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
    expect(await convoy('commit', ...outside)).not.toMatchObject({ code: 0 });
    expect(await convoy('commit', '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
    await clusters.expectEqual();
  },
);

test.skipIf(!hasOpenssl)(
  'a lone instance serves its API by TLS, to the command line too, and sends its own notifications (openssl, servers ' +
    'from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    using authority = new TestAuthority();
    await using clusters = await Clusters.little({ source: 'replicaSet', destination: 'replicaSet' });
    const [cluster0, cluster1] = [clusters.source.connectionString, clusters.destination.connectionString];
    const { notify, events } = await startReceiver();
    const settings = JSON.stringify({ cluster0, cluster1, tls: authority.issue('api'), notify });
    const config = fileOf(authority, 'instance.json', settings);
    const child = await Child.start({
      name: 'instance with TLS',
      command: process.execPath,
      args: [convoyProgram, 'instance', '--config', config, '--port', '0'],
      ready: listensLine,
      readyWithin_ms: listensWithin_ms,
      logFile: join(authority.folder, 'instance.log'),
    });
    try {
      const url = child.ready[1] ?? '';
      const service = ['--url', url, '--ca-file', authority.caFile];
      await expect
        .poll(() => convoy('progress', ...service), { timeout: 60_000, interval: 500 })
        .toMatchObject({ code: 0, stdout: expect.stringMatching(/^IDLE\n/) as string });
      expect(await convoy('start', '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
      await expect.poll(events, { timeout: 60_000 }).toEqual(['ready']);
      const committed = await convoy('commit', '--wait', ...service);
      expect(committed).toMatchObject({ code: 0, stderr: '' });
      await expect.poll(events, { timeout: 60_000 }).toEqual(['ready', 'committed']);
      await expect
        .poll(() => metricsOf(url, authority), { timeout: 60_000 })
        .toContain('convoy_notifications_total{event="committed",result="sent"} 1');
      expect((await convoy('progress', ...service)).stdout).toMatch(/\nBy this instance alone: Verified: [\d,]+ doc/);
      await clusters.expectEqual();
    } finally {
      await child.stop();
    }
  },
);
