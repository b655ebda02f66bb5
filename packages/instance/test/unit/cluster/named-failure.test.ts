import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { expect, test } from 'vitest';
import { namedFailure } from '../../../src/cluster/named-failure.js';
import { MetadataWriteError } from '../../../src/store/metadata.js';
import { serverError } from '../fake-node-client.js';

test.each([
  [291, 'serverParameterInTheWay', /notablescan.*Set it to false on every member.*Code \(291\)/],
  [498_870, 'serverParameterInTheWay', /requireApiVersion.*Set it to false on every node/],
  [70, 'shardDraining', /Wait until removeShard says completed/],
  [182, 'viewNotSupported', /system\.views is malformed.*remove it/],
  [10_334, 'documentTooLarge', /large _id\. Shorten it on the source/],
  [7_182_500, 'documentTooLarge', /large _id\. Shorten it on the source/],
  [13, 'permissionMissing', /Grant it/],
  [371, 'userWritesBlocked', /Have that block lifted.*or grant Convoy's user bypassWriteBlockingMode/],
  [18, 'authenticationFailed', /that it has taken before: .* have changed\. Correct them/],
  [11, 'authenticationFailed', /start the instances again/],
  [214, 'authenticationFailed', /the addresses from which it may log in/],
])('the code %i of a server is %s, with what to do', (code, error, says) => {
  const failure = namedFailure(serverError(code, 'Code'));
  expect(failure.error).toBe(error);
  expect(failure.errorDescription).toMatch(says);
});

test('a refused statement of the state of Convoy has the name of its code too', () => {
  expect(namedFailure(new MetadataWriteError(371)).error).toBe('userWritesBlocked');
  expect(namedFailure(new MetadataWriteError(9)).error).toBe('internalError');
});

test('any other failure is one of Convoy, and a named one stays as it is', () => {
  expect(namedFailure(serverError(8, 'UnknownError')).error).toBe('internalError');
  const named = new ConvoyError('wrongCluster');
  expect(namedFailure(named)).toBe(named);
});
