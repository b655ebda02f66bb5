import { UnreachableClusterError } from '@convoy/instance/cluster/connection-failure';
import { unreachableDuring } from '@convoy/instance/lifecycle/instance/fleet-command';
import { expect, it } from 'vitest';

const failure = { host: 'db1:27017', cause: 'the connection was refused (ECONNREFUSED)', advice: 'Check the port.' };

it.each([
  ['cluster0', 'sourceUnavailable'],
  ['cluster1', 'destinationUnavailable'],
])('a command that cannot reach %s is refused with %s', (cluster, error) => {
  const refusal = unreachableDuring('start', new UnreachableClusterError(cluster, failure, new Error('away')));
  expect(refusal.error).toBe(error);
  expect(refusal.message).toMatch(new RegExp(`^${error}: ${cluster} .*ECONNREFUSED.* Send start again\\.$`));
});

it('a command that loses a connection says that it may be sent again', () => {
  const refusal = unreachableDuring('pause', new Error('reset'));
  expect(refusal.error).toBe('sourceUnavailable');
  expect(refusal.message).toContain('Send pause again.');
});
