import { expect, test } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { optionLines } from '../../../src/commands/service-commands.js';

test('shows given options and the defaults of the others', () => {
  const body = { source: 'cluster0', destination: 'cluster1', includeNamespaces: [{ database: 'shop' }] };
  const lines = optionLines(body, parseStartRequest(body));
  expect(lines).toContain('  includeNamespaces        shop');
  expect(lines).toContain('  verification             yes (default)');
  expect(lines).toContain('  excludeNamespaces        none (default)');
});
