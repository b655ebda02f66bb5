import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { deployedVariables, documentedVariables, runs } from './deployment.js';
import { readText } from '../source-tree.js';

const units = ['convoy-instance@.service', 'convoy-coordinator.service'];
const hasAnalyze = runs('systemd-analyze', '--version');
/** Tenths of systemd's exposure level, from 0 to 100: what it calls OK. */
const exposureMax = 20;

function directives(unit: string): string[] {
  return readText(`deploy/systemd/${unit}`)
    .split('\n')
    .filter((line) => /^[A-Z]\w+=/.test(line));
}

/** Runs systemd-analyze on a copy whose program exists here; gives what it prints. */
function analyze(unit: string, ...args: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-units-'));
  try {
    const file = join(folder, unit);
    writeFileSync(file, readText(`deploy/systemd/${unit}`).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const run = `systemd-analyze "$@" 2>&1`;
    return execFileSync('sh', ['-c', run, 'sh', ...args, file], { encoding: 'utf8' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('deploy/systemd', () => {
  test('sets variables that the configuration has', () => {
    const variables = deployedVariables('deploy/systemd/');
    expect(variables).toContain('CONVOY_ID');
    expect(variables.filter((name) => !documentedVariables().has(name))).toEqual([]);
  });

  test.each(units)('%s takes its secrets as a credential, and runs as a user of its own', (unit) => {
    const lines = directives(unit);
    expect(lines.filter((line) => line.startsWith('ExecStart='))).toEqual([
      expect.stringMatching(/ --config \$\{CREDENTIALS_DIRECTORY\}\/settings\.json$/),
    ]);
    expect(lines).toContainEqual(expect.stringMatching(/^LoadCredential=settings\.json:\/etc\/convoy\/\w+\.json$/));
    for (const line of ['DynamicUser=yes', 'ProtectSystem=strict', 'NoNewPrivileges=yes', 'CapabilityBoundingSet='])
      expect(lines).toContain(line);
  });

  test.each(units)('%s leaves Node.js what it needs', (unit) => {
    expect(directives(unit)).not.toContain('MemoryDenyWriteExecute=yes');
  });

  test.skipIf(!hasAnalyze).each(units)('%s has no mistakes (systemd-analyze)', (unit) => {
    expect(analyze(unit, 'verify', '--man=no')).toBe('');
  });

  test.skipIf(!hasAnalyze).each(units)('%s is hardened (systemd-analyze)', (unit) => {
    const found = analyze(unit, 'security', '--no-pager', '--offline=true', `--threshold=${exposureMax}`);
    expect(found).toMatch(/Overall exposure level/);
  });
});
