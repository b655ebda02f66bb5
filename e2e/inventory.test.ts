import type { Inventory } from '@convoy/api/contract/inventory';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { runConvoy as convoy } from '@convoy/cli/environment/fleet/run-convoy';
import { loginAs } from '@convoy/testbed/cluster/access-control';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { answerChecker } from '../packages/api/test/unit/http/described-answers.js';
import { runCommand } from '../packages/cli/test/command-host.js';
import { Clusters, untilCanCommit, untilCommitted } from './fleet.js';
import { guarded, needs } from './requirements.js';

const carry = 'usersAndRoles,defaultConcerns';

/** Lines of a printed table that name something, with its outcome. */
const lineOf = (text: string, name: string): string | undefined => text.split('\n').find((line) => line.includes(name));

/** The inventory of a fleet, as its own document describes the answer. */
async function describedInventory(url: string): Promise<Inventory> {
  const check = answerChecker((await (await fetch(`${url}/api/v1/openapi.json`)).json()) as OpenApiDocument);
  const reply = await fetch(`${url}/api/v1/inventory`);
  const body = (await reply.json()) as { inventory: Inventory };
  expect(check('GET', '/api/v1/inventory', reply.status, body)).toEqual([]);
  return body.inventory;
}

const actionIn = ({ rows }: Pick<Inventory, 'rows'>, name: string): string | undefined =>
  rows.find((row) => row.name === name)?.action;

test(
  'check, API and report list what clusters have besides data, in both directions (servers from 6.0)',
  needs({ version: [6, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 }, ...guarded });
    const { source, destination } = clusters.clients;
    await source.db('shop').command({ createRole: 'desk', privileges: [], roles: ['read'] });
    await source.db('shop').command({ createUser: 'clerk', pwd: 'secret', roles: ['desk'] });
    await source.db('admin').command({ setDefaultRWConcern: 1, defaultReadConcern: { level: 'majority' } });
    await source.db('admin').collection('notes').insertOne({ n: 1 });
    using folder = ScratchFolder.create('test');
    const settings = (['source', 'destination'] as const).flatMap((side, at) => {
      const secret = folder.file(side);
      writeFileSync(secret, loginAs(clusters[side].connectionString, 'root'));
      return [`--cluster${at}-file`, secret];
    });
    const checked = await runCommand('check', '--carry', carry, '--no-verification', ...settings);
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    for (const name of ['clerk@shop', 'desk@shop', 'defaultReadConcern'])
      expect(lineOf(checked.stdout, name)).toMatch(/carried at the commit/);
    expect(lineOf(checked.stdout, 'admin.notes ')).toMatch(/left behind/);

    await using fleet = await clusters.startFleetHere();
    const service = ['--url', fleet.coordinator.url];
    const options = ['--carry', carry, '--reversible', '--enable-user-write-blocking', '--no-verification'];
    expect(await convoy('start', ...options, '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
    const { client } = fleet.coordinator;
    await untilCanCommit(client);
    expect(await convoy('commit', '--wait', ...service)).toMatchObject({ code: 0 });
    await untilCommitted(client);
    await destination.db('shop').command({ createUser: 'late', pwd: 'secret', roles: ['desk'] });

    const inventory = await describedInventory(fleet.coordinator.url);
    expect(inventory.reverse).not.toBeNull();
    expect([actionIn(inventory, 'clerk@shop'), actionIn(inventory, 'late@shop')]).toEqual(['equal', 'kept']);
    expect(inventory.reverse && actionIn(inventory.reverse, 'late@shop')).toBe('carried');

    const file = folder.file('report.html');
    expect(await convoy('report', '--output', file, ...service)).toMatchObject({ code: 0 });
    const [forward = '', back = ''] = readFileSync(file, 'utf8').split('<h3>In a reverse</h3>');
    expect(forward).toMatch(/<td>clerk@shop<\/td><td>on both<\/td>/);
    expect(forward).toMatch(/<td>admin\.notes<\/td><td>left behind<\/td>/);
    expect(back).toMatch(/<th>On cluster1<\/th><th>On cluster0<\/th>/);
    expect(back).toMatch(/<td>late@shop<\/td><td>carried at the commit<\/td>/);
  },
);
