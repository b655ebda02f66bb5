import { describe, expect, test } from 'vitest';
import { environmentName } from '@convoy/api/configuration/setting-names';
import { coordinatorSettings, instanceSettings } from '@convoy/cli/commands/settings';
import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { bytesOf, instanceSchema } from '@convoy/instance/config/instance-schema';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { documentTable, plainText } from './document-table.js';

interface DocumentedSetting {
  name: string;
  environment: string;
  /** As written: a value, `none` or `required`. */
  default: string;
}

function documentedSettings(heading: string): DocumentedSetting[] {
  const { rows } = documentTable('docs/reference/configuration.md', heading);
  return rows.map(([name, environment, standard]) => ({
    name: plainText(name),
    environment: plainText(environment),
    default: plainText(standard),
  }));
}

/** A default as the document writes it, or undefined for one that there is not. */
function valueOf(text: string, like: unknown): unknown {
  if (text === 'none' || text === 'required') return undefined;
  if (typeof like === 'number') return bytesOf(text);
  return typeof like === 'string' ? text : (JSON.parse(text) as unknown);
}

const required = { cluster0: 'mongodb://source.example/', cluster1: 'mongodb://destination.example/' };

describe('docs/reference/configuration.md, instance', () => {
  const documented = documentedSettings('Instance');

  test('names every setting of the schema once, and no other', () => {
    expect(documented.map(({ name }) => name).sort()).toEqual(Object.keys(instanceSchema.shape).sort());
  });

  test('names the same settings as the help', () => {
    expect(documented.map(({ name }) => name).sort()).toEqual(Object.keys(instanceSettings).sort());
  });

  test.each(documented)('$name has its variable of the environment', ({ name, environment }) => {
    expect(environment).toBe(environmentName(name));
  });

  test.each(documented)('$name has the default of the schema', (setting) => {
    const config: Record<string, unknown> = { ...parseInstanceConfig({ flags: required }) };
    if (setting.default === 'required') expect(required).toHaveProperty(setting.name);
    else expect(valueOf(setting.default, config[setting.name])).toEqual(config[setting.name]);
  });
});

describe('docs/reference/configuration.md, coordinator', () => {
  const documented = documentedSettings('Coordinator');
  const redis = 'redis://redis.example:6379';

  test('names every setting once, and no other', () => {
    expect(documented.map(({ name }) => name).sort()).toEqual(Object.keys(coordinatorSettings).sort());
  });

  test.each(documented)('$name has the default of the schema', (setting) => {
    const config: Record<string, unknown> = { ...parseCoordinatorConfig({ flags: { redis } }) };
    if (setting.default === 'required') expect(setting.name).toBe('redis');
    else expect(valueOf(setting.default, config[setting.name])).toEqual(config[setting.name]);
  });

  test('variables of the environment do what flags of their settings do', () => {
    const flags: Record<string, string> = {
      redis,
      fleet: 'other',
      port: '1234',
      listen: 'convoy.example',
      allowedHosts: 'a,b',
      token: 'word',
      viewToken: 'other',
      allowUnauthenticated: 'true',
      tls: '{"certFile":"a","keyFile":"b"}',
      notify: '{"receivers": [{"name": "pager", "url": "http://pager.example", "secret": "0123456789abcdef"}]}',
      fleetSecret: '0123456789abcdef0123456789abcdef',
      verbosity: 'WARN',
      logPath: 'logs',
    };
    expect(Object.keys(flags).sort()).toEqual(documented.map(({ name }) => name).sort());
    const env = Object.fromEntries(documented.map(({ name, environment }) => [environment, flags[name]]));
    expect(parseCoordinatorConfig({ env })).toEqual(parseCoordinatorConfig({ flags }));
  });
});
