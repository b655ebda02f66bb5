import { UnreachableClusterError } from '@convoy/instance/cluster/connection-failure';
import { refusalOf } from '@convoy/instance/lifecycle/instance/fleet-command';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';

const failure = { host: 'db1:27017', cause: 'the connection was refused (ECONNREFUSED)', advice: 'Check the port.' };

it.each([
  ['cluster0', 'sourceUnavailable'],
  ['cluster1', 'destinationUnavailable'],
])('a command that cannot reach %s is refused with %s', (cluster, error) => {
  const refusal = refusalOf('start', new UnreachableClusterError(cluster, failure, new MongoNetworkError('away')));
  expect(refusal).toMatchObject({ error });
  expect(String(refusal)).toMatch(new RegExp(`${error}: ${cluster} .*ECONNREFUSED.* Send start again\\.$`));
});

it('a command that loses a connection says that it may be sent again', () => {
  const refusal = refusalOf('pause', new MongoNetworkError('reset'));
  expect(refusal).toMatchObject({ error: 'sourceUnavailable' });
  expect(String(refusal)).toMatch(/A cluster that pause needs cannot be reached: .*Send pause again\./);
});

function serverError(code: number, codeName: string): MongoServerError {
  return new MongoServerError({ message: 'no', code, codeName });
}

it.each([
  [189, 'PrimarySteppedDown'],
  [264, 'TooManyFilesOpen'],
  [43, 'CursorNotFound'],
  [246, 'SnapshotUnavailable'],
  [175, 'QueryPlanKilled'],
])('a command that meets a failure which passes says so, and that it may be sent again: %i', (code, name) => {
  const refusal = refusalOf('start', serverError(code, name));
  expect(refusal).toMatchObject({ error: 'sourceUnavailable' });
  expect(String(refusal)).toContain(
    `A cluster that start needs refused a call for now: ${name} (${code}). Everything done`,
  );
});

it('a command that meets what an operator can remove names it, and nothing else gets a name', () => {
  expect(refusalOf('commit', serverError(291, 'NoQueryExecutionPlans'))).toMatchObject({
    error: 'serverParameterInTheWay',
  });
  const unknown = serverError(8, 'UnknownError');
  expect(refusalOf('commit', unknown)).toBe(unknown);
});
