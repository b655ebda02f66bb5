import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import type { CheckName } from '../../../src/preflight/examination.js';
import {
  destinationPrivileges,
  sourcePrivileges,
  verifiedPrivileges,
} from '../../../src/preflight/required-privileges.js';
import { Fixture } from './fixture.js';

/** What servers, or the rights of users there, refuse once a migration runs; a start refuses it before. */
interface ServerFinding {
  what: string;
  check: CheckName;
  result: 'failed';
  name: string;
  prepare: (fixture: Fixture) => void;
  /** What is concerned, and what to do. */
  says: RegExp;
}

/** A user with the documented privileges, and no more. */
function asDocumented(): Document {
  const actions = [...sourcePrivileges.sharded, ...destinationPrivileges.sharded, ...verifiedPrivileges]
    .filter(({ resource }) => resource === 'everyDatabase')
    .flatMap((required) => required.actions);
  return {
    authenticatedUsers: [{ user: 'sync', db: 'admin' }],
    authenticatedUserPrivileges: [
      { resource: { cluster: true }, actions: ['anyAction'] },
      { resource: { db: '', collection: '' }, actions },
      { resource: { db: 'config', collection: '' }, actions: ['anyAction'] },
    ],
  };
}

const findings: ServerFinding[] = [
  {
    what: 'a view that the source no longer resolves',
    check: 'collections',
    result: 'failed',
    name: 'viewNotSupported',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'v', pipeline: [] } });
      fixture.sourceServer.refused.set('app.v', 5);
    },
    says: /app\.v \(Location5 \(5\)\)\. Correct or drop them/,
  },
  {
    what: 'a view that the destination does not parse',
    check: 'collections',
    result: 'failed',
    name: 'viewNotSupported',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [{ $old: {} }] } });
      fixture.destinationServer.refused.set('app.c', 40_324);
    },
    says: /app\.v \(Location40324 \(40324\)\)\. Correct or drop them/,
  },
  {
    what: 'a view that writes',
    check: 'collections',
    result: 'failed',
    name: 'viewNotSupported',
    prepare: (fixture) =>
      void fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [{ $out: 'd' }] } }),
    says: /app\.v \(a view cannot have \$out\)/,
  },
  {
    what: 'a view that has another collation than one that it reads',
    check: 'collections',
    result: 'failed',
    name: 'viewNotSupported',
    prepare: ({ sourceServer }) => {
      const inFrench = { viewOn: 'c', pipeline: [], collation: { locale: 'fr' } };
      const pipeline = [{ $lookup: { from: 'w', as: 'x', pipeline: [] } }];
      sourceServer.add('app.w', { type: 'view', options: inFrench });
      sourceServer.add('app.same', { type: 'view', options: { ...inFrench, viewOn: 'w' } });
      sourceServer.add('app.other', {
        type: 'view',
        options: { ...inFrench, viewOn: 'w', collation: { locale: 'de' } },
      });
      sourceServer.add('app.plain', { type: 'view', options: { viewOn: 'c', pipeline } });
    },
    says: /app\.other \(it has another collation than app\.w, which it reads\), app\.plain \(.* app\.w,.*\)\. Correct/,
  },
  {
    what: 'a source that refuses scans',
    check: 'serverParameters',
    result: 'failed',
    name: 'serverParameterInTheWay',
    prepare: (fixture) => void (fixture.sourceServer.notablescan = true),
    says: /notablescan is on at cluster0: .*Set it to false on every member/,
  },
  {
    what: 'a destination that refuses scans',
    check: 'serverParameters',
    result: 'failed',
    name: 'serverParameterInTheWay',
    prepare: (fixture) => void (fixture.destinationServer.notablescan = true),
    says: /notablescan is on at cluster1: .*Set it to false on every member/,
  },
  {
    what: 'a shard of the destination that is being removed',
    check: 'destination',
    result: 'failed',
    name: 'shardDraining',
    prepare: (fixture) => Object.assign(fixture.destinationServer.shards[1] ?? {}, { draining: true }),
    says: /draining: b\. Run removeShard until it says completed/,
  },
  {
    what: 'a capped collection without convertToCapped',
    check: 'destination',
    result: 'failed',
    name: 'permissionMissing',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.c', { options: { capped: true, size: 4096 } });
      fixture.destinationServer.authInfo = asDocumented();
    },
    says: /cluster1 lacks convertToCapped on every database, which app\.c needs\. Grant it: .*convertToCapped/,
  },
  {
    what: 'functions that the user of the source may not read',
    check: 'destination',
    result: 'failed',
    name: 'permissionMissing',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.system.js');
      fixture.sourceServer.authInfo = asDocumented();
    },
    says: /cluster0 lacks find, listIndexes on system\.js of every database, which app\.system\.js needs\. Grant it/,
  },
];

it.each(findings)('$what', async ({ check, result, name, prepare, says }) => {
  const fixture = new Fixture();
  prepare(fixture);
  const { canStart, items } = await fixture.report();
  expect(canStart).toBe(false);
  expect(items.find((item) => item.check === check)).toMatchObject({
    result,
    error: name,
    description: expect.stringMatching(says) as unknown,
  });
  await expect(fixture.check()).rejects.toMatchObject({ error: name });
});

it('a view of $search, which the destination keeps although it cannot run it, is none', async () => {
  const fixture = new Fixture();
  fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [{ $search: {} }] } });
  fixture.destinationServer.refused.set('app.c', 31_082);
  expect((await fixture.report()).canStart).toBe(true);
});

it('users who have the rights that capped collections and functions need are none', async () => {
  const fixture = new Fixture();
  fixture.sourceServer.add('app.c', { options: { capped: true, size: 4096 } });
  fixture.sourceServer.add('app.system.js');
  for (const server of [fixture.sourceServer, fixture.destinationServer]) {
    const user = asDocumented();
    const granted = user.authenticatedUserPrivileges as Document[];
    const actions = ['find', 'listIndexes', 'insert', 'update', 'remove', 'bypassDocumentValidation'];
    granted.push({ resource: { db: '', collection: 'system.js' }, actions });
    granted.push({ resource: { db: '', collection: '' }, actions: ['convertToCapped'] });
    server.authInfo = user;
  }
  const { items } = await fixture.report();
  expect(items.filter(({ error }) => error === 'permissionMissing')).toEqual([]);
});

it('a server that refuses to list a database names it, and the other checks go on', async () => {
  const fixture = new Fixture();
  fixture.sourceServer.add('app.c');
  fixture.sourceServer.refused.set('app', 182);
  const { canStart, items } = await fixture.report();
  expect(canStart).toBe(false);
  expect(items.find(({ check }) => check === 'collections')).toMatchObject({
    error: 'viewNotSupported',
    description: expect.stringMatching(/app\.system\.views is malformed.*remove it/) as unknown,
  });
  expect(items.find(({ check }) => check === 'oplogWindow')?.result).toBe('passed');
});
