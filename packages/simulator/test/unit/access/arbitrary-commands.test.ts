import { Int32 } from 'bson';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessCommands } from '../../../src/access/command/access-commands.js';
import { declaredNeeds } from '../../../src/access/authorization/authorizer.js';
import type { Doc, Value } from '../../../src/bson/value.js';
import { type ReplicaSet, startWholeReplicaSet } from '../../../src/cluster/replica-set.js';
import { doc, numberOf } from '../../../src/node/doc-fields.js';
import { logIn } from '../../conformance/scram-login.js';
import { WireClient } from '../../conformance/wire-client.js';
import { value } from '../bson/arbitrary-value.js';

const password = 'x';
const propertyMs = 60_000;
/** It would log out those who ask. */
const leftOut = 'dropAllUsersFromDatabase';

let set: ReplicaSet;
const clients: WireClient[] = [];

beforeAll(async () => {
  const users = [
    { user: 'root', password, roles: ['root'] },
    { user: 'reader', password, roles: [{ role: 'read', db: 'a' }] },
  ];
  set = await startWholeReplicaSet({ auth: { users } });
  for (const { user } of users) {
    const client = await WireClient.connect(set.host);
    await logIn(client, 'admin', user, password);
    clients.push(client);
  }
});

afterAll(async () => {
  for (const client of clients) client.close();
  await set.close();
});

const role = fc.oneof(
  fc.constantFrom<Value>('read', 'none', doc(['role', 'read'], ['db', 'a']), doc(['role', new Int32(1)])),
  value,
);
const privilege = fc.oneof(
  fc.constant<Value>(doc(['resource', doc(['db', 'a'], ['collection', ''])], ['actions', ['find']])),
  value,
);
const fields = fc.dictionary(
  fc.constantFrom(
    'roles',
    'privileges',
    'customData',
    'mechanisms',
    'payload',
    'conversationId',
    'mechanism',
    'options',
    'showPrivileges',
    'filter',
    'pipeline',
    'updates',
  ),
  fc.oneof(fc.array(role, { maxLength: 3 }), fc.array(privilege, { maxLength: 3 }), value),
  { maxKeys: 4 },
);

async function codeOf(client: WireClient, command: Doc): Promise<number | undefined> {
  return numberOf((await client.run('a', command)).get('code'));
}

it(
  'property: commands about users and roles take any arguments without failing in a way that nobody foresaw',
  async () => {
    const names = [...accessCommands.keys()].filter((name) => name !== leftOut);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), value, fields, async (name, first, others) => {
        const command: Doc = new Map([[name, first], ...Object.entries(others)]);
        for (const client of clients) expect(await codeOf(client, new Map(command))).not.toBe(8);
      }),
      { numRuns: 500 },
    );
  },
  propertyMs,
);

it('property: the check of privileges takes any command', () => {
  fc.assert(
    fc.property(fc.constantFrom(...declaredNeeds.keys()), value, fields, (name, first, others) => {
      const needs = declaredNeeds.get(name);
      if (typeof needs !== 'function') return;
      const body: Doc = new Map([[name, first], ...Object.entries(others)]);
      try {
        needs({
          db: 'a',
          name,
          body,
          sequences: new Map(),
          connection: { id: 1, remoteAddress: '', authenticated: [] },
          signal: new AbortController().signal,
        });
      } catch (error) {
        expect(error).toHaveProperty('codeName');
      }
    }),
    { numRuns: 2000 },
  );
});
