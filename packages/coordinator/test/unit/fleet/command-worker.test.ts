import { describe, expect, it } from 'vitest';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { CommandLedger } from '../../../src/fleet/command-worker.js';

const accepted: CommandResult = { success: true };

describe('CommandLedger', () => {
  it('handles a command once, even while it is running', async () => {
    const ledger = new CommandLedger();
    let handled = 0;
    const handle = (): Promise<CommandResult> => {
      handled += 1;
      return Promise.resolve(accepted);
    };
    await Promise.all([ledger.once('a', handle), ledger.once('a', handle)]);
    await ledger.once('a', handle);
    expect(handled).toBe(1);
  });

  it('allows a retry after an error', async () => {
    const ledger = new CommandLedger();
    await expect(ledger.once('a', () => Promise.reject(new Error('later')))).rejects.toThrow('later');
    expect(await ledger.once('a', () => Promise.resolve(accepted))).toEqual(accepted);
  });

  it('drops the oldest of many', async () => {
    const ledger = new CommandLedger();
    for (let at = 0; at <= 256; at += 1) await ledger.once(String(at), () => Promise.resolve(accepted));
    let again = 0;
    const count = (): Promise<CommandResult> => {
      again += 1;
      return Promise.resolve(accepted);
    };
    await ledger.once('256', count);
    await ledger.once('0', count);
    expect(again).toBe(1);
  });
});
