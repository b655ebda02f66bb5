import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expect, test } from 'vitest';
import { namedFailure } from '../../../src/cluster/named-failure.js';
import { serverError } from '../fake-node-client.js';

test.each([
  [291, 'serverParameterInTheWay', /notablescan.*Set it to false on every member.*Code \(291\)/],
  [498_870, 'serverParameterInTheWay', /requireApiVersion.*Set it to false on every node/],
  [70, 'shardDraining', /Wait until removeShard says completed/],
  [182, 'viewNotSupported', /system\.views is malformed.*remove it/],
  [10_334, 'documentTooLarge', /large _id\. Shorten it on the source/],
  [7_182_500, 'documentTooLarge', /large _id\. Shorten it on the source/],
  [13, 'permissionMissing', /Grant it/],
])('the code %i of a server is %s, with what to do', (code, error, says) => {
  const failure = namedFailure(serverError(code, 'Code'));
  expect(failure.error).toBe(error);
  expect(failure.errorDescription).toMatch(says);
});

test('any other failure is one of Convoy, and a named one stays as it is', () => {
  expect(namedFailure(serverError(8, 'UnknownError')).error).toBe('internalError');
  const named = new ConvoyError('wrongCluster');
  expect(namedFailure(named)).toBe(named);
});
