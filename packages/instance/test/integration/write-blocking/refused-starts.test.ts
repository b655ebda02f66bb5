import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { accepts, refuses, refusesThenAccepts, startBody } from '../contract/start-conditions.js';

const blocking = startBody({ enableUserWriteBlocking: true });

it('a destination without users cannot be closed to them', async () => {
  await using fixture = await Fixture.open({ shards: 1 }, { shards: 1 }, { cluster0: '7.0', cluster1: '7.0' });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await refusesThenAccepts(
    fixture,
    blocking,
    { status: 422, error: 'permissionMissing', says: /cluster1.*also block Convoy's writes/ },
    startBody(),
  );
});

it('users who may not block writes, or not bypass the block, are refused with the missing privilege', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', {
    cluster0: '6.0',
    cluster1: '8.0',
    withUsers: true,
  });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const revoke = (side: typeof fixture.cluster0, roles: string[]) =>
    side.client.db('admin').command({ revokeRolesFromUser: 'migrator', roles });
  const grant = (side: typeof fixture.cluster0, roles: string[]) =>
    side.client.db('admin').command({ grantRolesToUser: 'migrator', roles });
  await revoke(fixture.cluster1, ['restore']);
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, blocking, {
    status: 422,
    error: 'permissionMissing',
    says: /cluster1 lacks .*bypassWriteBlockingMode on the cluster/,
  });
  await grant(fixture.cluster1, ['restore']);
  await revoke(fixture.cluster0, ['restore', 'backup']);
  await refuses(fixture, instance, blocking, {
    status: 422,
    error: 'permissionMissing',
    says: /cluster0 lacks setUserWriteBlockMode on the cluster/,
  });
  await grant(fixture.cluster0, ['backup']);
  await accepts(instance, blocking);
});

it('a destination that another tool keeps closed is refused, or named where Convoy may write', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', {
    cluster0: '8.0',
    cluster1: '8.0',
    withUsers: true,
  });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const admin = fixture.cluster1.client.db('admin');
  await admin.command({ setUserWriteBlockMode: 1, global: true });
  // What the role restore gives beside the right to bypass.
  const everywhere = { resource: { db: '', collection: '' }, actions: ['bypassDocumentValidation', 'collMod'] };
  await admin.command({ createRole: 'writer', privileges: [everywhere], roles: [] });
  await admin.command({ grantRolesToUser: 'migrator', roles: ['writer'] });
  await admin.command({ revokeRolesFromUser: 'migrator', roles: ['restore'] });
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody(), {
    status: 422,
    error: 'userWritesBlocked',
    says: /cluster1 refuses the writes of users\. Convoy's user there may not bypass that\. Have the block lifted/,
  });
  await admin.command({ grantRolesToUser: 'migrator', roles: ['restore'] });
  await instance.accepted('start', startBody());
  await instance.until('the block is named', ({ warnings }) =>
    (warnings ?? []).some(({ name }) => name === 'destinationWritesBlocked'),
  );
  await admin.command({ setUserWriteBlockMode: 1, global: false });
  await instance.untilCanCommit();
});

it('a source whose feature compatibility version is below 6.0 cannot be closed', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', {
    cluster0: '6.0',
    cluster1: '6.0',
    withUsers: true,
  });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await fixture.cluster0.client.db('admin').command({ setFeatureCompatibilityVersion: '5.0' });
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, blocking, {
    status: 422,
    error: 'writeBlockingNeedsSource60',
    says: /featureCompatibilityVersion.*5\.0/,
  });
  await fixture.cluster0.client.db('admin').command({ setFeatureCompatibilityVersion: '6.0' });
  await accepts(instance, blocking);
  expect((await instance.progress()).state).toBe('RUNNING');
});

it('destinationOnly needs a destination of 6.0 alone', async () => {
  await using old = await Fixture.open('replicaSet', 'replicaSet', {
    cluster0: '5.0',
    cluster1: '5.0',
    withUsers: true,
  });
  await old.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const destinationOnly = startBody({ enableUserWriteBlocking: 'destinationOnly' });
  const refusal = { status: 422, error: 'writeBlockingNeedsDestination60', says: /6\.0/ } as const;
  await refusesThenAccepts(old, destinationOnly, refusal, startBody());
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', {
    cluster0: '5.0',
    cluster1: '6.0',
    withUsers: true,
  });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await using instance = await fixture.startInstance();
  await accepts(instance, destinationOnly);
});
