import { expect, it } from 'vitest';
import { given } from '../../../src/contract/given.js';

it('leaves out members that are undefined, and no other', () => {
  const members = given({ absent: undefined, no: false, nothing: null, none: 0, empty: '' });
  expect(Object.keys(members)).toEqual(['no', 'nothing', 'none', 'empty']);
});
