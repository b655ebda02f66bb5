import { existsSync, readFileSync } from 'node:fs';
import type { MigrationReport } from '@convoy/api/contract/migration-report';
import { createHttpApp } from '@convoy/api/http/http-app';
import { REPORT_PATH } from '@convoy/api/http/operations';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { expect, test } from 'vitest';
import { RecordingService } from '../../../../api/test/unit/http/recording-service.js';
import { runCommand } from '../../command-host.js';

const others = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };
const report: MigrationReport = {
  madeAt_ms: 1_000,
  releases: ['2.0.0'],
  source: 'old:27017',
  destination: 'new:27017',
  state: 'COMMITTED',
  verdict: { kind: 'verified', text: 'Verified: 12 documents compared, 0 mismatches.' },
  nextStep: 'Point the writers at the destination.',
  startedAt_ms: 0,
  endedAt_ms: 900,
  elapsed_seconds: 0.9,
  copied: { bytes: 5, totalBytes: 5, documents: 12 },
  eventsApplied: 3,
  longestLag_seconds: 1,
  indexes: { built: 2, total: 2 },
  collections: { rows: [{ namespace: 'shop.orders', totalBytes: 5, copiedBytes: 5, copiedDocuments: 12 }], others },
  instances: [{ id: 'shard0', state: 'COMMITTED', error: null }],
  warnings: [],
  commitBlockers: [],
  handOver: null,
  inventory: null,
  history: null,
};

async function served(hasReport: boolean) {
  const app = await createHttpApp({
    service: new RecordingService(),
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    isReady: () => true,
  });
  if (hasReport) app.get(REPORT_PATH, () => ({ success: true, report }));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

test('report writes a file, or prints what the coordinator answers', async () => {
  using folder = ScratchFolder.create('test');
  const file = folder.file('shop.html');
  await using service = await served(true);
  const written = await runCommand('report', '--url', service.url, '--output', file);
  expect(written).toMatchObject({ code: 0 });
  expect(written.stdout).toBe(`Verified: 12 documents compared, 0 mismatches.\nThe report is in ${file}.\n`);
  expect(readFileSync(file, 'utf8')).toContain('<td>shop.orders</td>');
  const printed = await runCommand('report', '--url', service.url, '--json');
  expect(JSON.parse(printed.stdout)).toEqual(report);
});

test('report of an instance names the coordinator, and writes nothing', async () => {
  using folder = ScratchFolder.create('test');
  const file = folder.file('none.html');
  await using service = await served(false);
  const refused = await runCommand('report', '--url', service.url, '--output', file);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("Set the coordinator's address");
  expect(existsSync(file)).toBe(false);
});
