import { expect, it } from 'vitest';
import { Scene } from '../contract/scene.js';
import { accepts, refuses, refusesThenAccepts, startBody } from '../contract/start-conditions.js';

const blocking = startBody({ enableUserWriteBlocking: true });

it('a destination that knows no users cannot be closed to them', async () => {
  await using scene = await Scene.open({ shards: 1 }, { shards: 1 }, { cluster0: '7.0', cluster1: '7.0' });
  await scene.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await refusesThenAccepts(scene, blocking, { status: 422, error: 'permissionMissing', says: /cluster1.*block Convoy's too/ }, startBody());
});

it('users who may not block writes, or not write past the block, are refused by the name of the privilege', async () => {
  await using scene = await Scene.open('replicaSet', 'replicaSet', { cluster0: '6.0', cluster1: '8.0', withUsers: true });
  await scene.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const revoke = (side: typeof scene.cluster0, roles: string[]) => side.client.db('admin').command({ revokeRolesFromUser: 'migrator', roles });
  const grant = (side: typeof scene.cluster0, roles: string[]) => side.client.db('admin').command({ grantRolesToUser: 'migrator', roles });
  await revoke(scene.cluster1, ['restore']);
  await using instance = await scene.startInstance();
  await refuses(scene, instance, blocking, { status: 422, error: 'permissionMissing', says: /cluster1 lacks .*bypassWriteBlockingMode on the cluster/ });
  await grant(scene.cluster1, ['restore']);
  await revoke(scene.cluster0, ['restore', 'backup']);
  await refuses(scene, instance, blocking, { status: 422, error: 'permissionMissing', says: /cluster0 lacks setUserWriteBlockMode on the cluster/ });
  await grant(scene.cluster0, ['backup']);
  await accepts(instance, blocking);
});

it('a source whose feature compatibility version is below 6.0 cannot be closed', async () => {
  await using scene = await Scene.open('replicaSet', 'replicaSet', { cluster0: '6.0', cluster1: '6.0', withUsers: true });
  await scene.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  await scene.cluster0.client.db('admin').command({ setFeatureCompatibilityVersion: '5.0' });
  await using instance = await scene.startInstance();
  await refuses(scene, instance, blocking, { status: 422, error: 'writeBlockingNeedsSource60', says: /featureCompatibilityVersion.*5\.0/ });
  await scene.cluster0.client.db('admin').command({ setFeatureCompatibilityVersion: '6.0' });
  await accepts(instance, blocking);
  expect((await instance.progress()).state).toBe('RUNNING');
});
