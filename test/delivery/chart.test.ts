import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Secret } from '@convoy/api/configuration/secret';
import { parseCoordinatorConfig } from '@convoy/coordinator/config/coordinator-config';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { instanceSchema } from '@convoy/instance/config/instance-schema';
import { deployedVariables, documentedVariables, runs } from './deployment.js';
import { readText, root } from '../source-tree.js';

const chart = join(root, 'charts/convoy');
const hasHelm = runs('helm', 'version');
/** A busy machine takes its time. */
const helm_ms = 120_000;

const secrets = [
  'pass-word-of-zero',
  'pass-word-of-one',
  'pass-word-of-the-token',
  'pass-word-of-redis',
  'pass-word-of-the-fleet',
  'pass-word-of-the-pager',
] as const;
const notify = { receivers: [{ name: 'pager', url: 'https://pager.example/hook', secret: 'pass-word-of-the-pager' }] };
const least = {
  shards: ['shard0', 'shard1'],
  access: {
    cluster0: `mongodb://user:${secrets[0]}@source.example/`,
    cluster1: `mongodb://user:${secrets[1]}@destination.example/`,
    token: secrets[2],
    fleetSecret: 'pass-word-of-the-fleet-with-32-or-more',
    notify,
  },
  redis: { password: secrets[3] },
};
const full = {
  shards: ['shard0', 'rs"quoted', 'shard2'],
  access: { existingSecret: 'own-access' },
  redis: { install: false, settings: { sentinels: [{ host: 'sentinel' }], primaryName: 'main', password: secrets[3] } },
  instance: { settings: { readers: 8, memoryBytesMax: '1GiB' }, podLabels: { team: 'data' } },
  tls: { existingSecret: 'own-certificate' },
  coordinator: { replicas: 2, allowedHosts: ['convoy.example'] },
  networkPolicy: {
    apiFrom: [{ namespaceSelector: {} }],
    clusterEgress: [{ ports: [{ protocol: 'TCP', port: 27017 }] }],
    redisEgress: [{ ports: [{ protocol: 'TCP', port: 6379 }] }],
  },
  podMonitor: { enabled: true },
};

interface Container {
  name: string;
  command?: string[];
  args: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { key: string } } }[];
  securityContext: Record<string, unknown>;
  resources: { limits: unknown; requests: unknown };
  startupProbe: unknown;
  livenessProbe: unknown;
  readinessProbe: unknown;
  volumeMounts?: unknown[];
}

interface Pod {
  enableServiceLinks: boolean;
  automountServiceAccountToken: boolean;
  securityContext: Record<string, unknown>;
  containers: Container[];
  volumes: unknown[];
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: { replicas?: number; template?: { spec: Pod }; egress?: unknown[]; podMetricsEndpoints?: unknown[] };
}

function helm(command: 'lint' | 'template', values: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-chart-'));
  try {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const args = { lint: ['lint', '--strict', chart], template: ['template', 'convoy', chart, '--namespace', 'moves'] };
    return execFileSync('helm', [...args[command], '--kube-version', '1.33.0', '--values', file], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function rendered(values: unknown): Manifest[] {
  return parseAllDocuments(helm('template', values)).flatMap((document) => {
    const manifest = document.toJS() as Manifest | null;
    return manifest === null ? [] : [manifest];
  });
}

function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap(({ spec }) => (spec?.template ? [spec.template.spec] : []));
}

function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`the chart renders no ${kind} ${name}`);
  return found;
}

/** The settings files of the pods. */
function settingsOf(manifests: readonly Manifest[]): Record<string, string> {
  const config = manifests.find(({ metadata }) => metadata.name === 'convoy-settings')?.data;
  return config ?? named(manifests, 'Secret', 'convoy-settings').stringData ?? {};
}

/** What a container sees; a Secret that the chart does not make has everything but what is optional. */
function environmentOf(env: NonNullable<Container['env']>, access: Manifest | null): Record<string, string> {
  const known = { cluster0: 'mongodb://a/', cluster1: 'mongodb://b/', token: 'a-token-of-many-letters' };
  const content: Partial<Record<string, string>> = access?.stringData ?? known;
  return Object.fromEntries(
    env.flatMap(({ name, value, valueFrom }): [string, string][] => {
      const key = valueFrom?.secretKeyRef?.key;
      if (key === undefined) return [[name, value ?? '10.0.0.1']];
      const text = key === 'url' ? 'redis://convoy:word@redis:6379/0' : content[key];
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

describe('charts/convoy', () => {
  test('has the version of the release', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    expect(parse(readText('charts/convoy/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });

  test('sets variables that the configuration has', () => {
    const variables = deployedVariables('charts/convoy/templates/');
    expect(variables.length).toBeGreaterThan(8);
    expect(variables.filter((name) => !documentedVariables().has(name))).toEqual([]);
  });

  test('takes every setting of an instance that it does not set itself', () => {
    const schema = JSON.parse(readText('charts/convoy/values.schema.json')) as {
      properties: { instance: { properties: { settings: { properties: object } } } };
    };
    const own = ['cluster0', 'cluster1', 'id', 'redis', 'fleet', 'port', 'listen', 'allowedHosts', 'token', 'shards'];
    // A root file system that is read-only has no place for log files; without a token nothing would protect the pods.
    // The chart takes certificates and the fleet's secret for all pods; in a fleet coordinators send notifications.
    const left = [...own, 'logPath', 'allowUnauthenticated', 'tls', 'notify', 'fleetSecret'];
    const taken = Object.keys(schema.properties.instance.properties.settings.properties);
    expect(taken.sort()).toEqual(
      Object.keys(instanceSchema.shape)
        .filter((name) => !left.includes(name))
        .sort(),
    );
  });

  test('gives the user of Redis the rights that the documents list', () => {
    const rights = /~team:\{convoy:\* &team:\{convoy:\* (?<rights>[^\n]+)/.exec(
      readText('docs/reference/configuration.md'),
    );
    expect(readText('charts/convoy/templates/secrets.yaml')).toContain(rights?.groups?.['rights'] ?? 'none found');
  });
});

describe.skipIf(!hasHelm)('charts/convoy as helm renders it (helm)', { timeout: helm_ms }, () => {
  const cases = [
    { name: 'the least values', values: least, pods: 3 },
    { name: 'all kinds of values', values: full, pods: 2 },
  ];

  test.each(cases)('passes lint with $name', ({ values }) => {
    expect(helm('lint', values)).toContain('0 chart(s) failed');
  });

  test.each(cases)('runs without privileges with $name', ({ values, pods }) => {
    const found = podsOf(rendered(values));
    expect(found).toHaveLength(pods);
    for (const pod of found) {
      expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false });
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(pod.securityContext['runAsUser']).toBeGreaterThan(0);
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          privileged: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources).toMatchObject({ requests: { memory: expect.any(String) as string } });
      }
    }
  });

  test.each(cases)('has probes with $name', ({ values }) => {
    const scheme = 'tls' in values ? 'HTTPS' : 'HTTP';
    const alive = { httpGet: { path: '/healthz', port: 'api', scheme } };
    for (const container of podsOf(rendered(values)).flatMap((pod) => pod.containers)) {
      expect(container.startupProbe).toBeDefined();
      if (container.name === 'redis') continue;
      expect(container.startupProbe).toMatchObject(alive);
      expect(container.livenessProbe).toMatchObject(alive);
      expect(container.readinessProbe).toMatchObject({ httpGet: { path: '/readyz', port: 'api', scheme } });
    }
  });

  test.each(cases)('shows secrets in Secrets alone with $name', ({ values }) => {
    const others = rendered(values).filter(({ kind }) => kind !== 'Secret');
    expect(secrets.filter((secret) => JSON.stringify(others).includes(secret))).toEqual([]);
    expect(JSON.stringify(rendered(values))).toContain(secrets[3]);
  });

  test.each(cases)('gives each pod the shard of its ordinal with $name', ({ values }) => {
    const manifests = rendered(values);
    const instances = named(manifests, 'StatefulSet', 'convoy-instance');
    const files = settingsOf(manifests);
    expect(instances.spec?.replicas).toBe(values.shards.length);
    expect(instances.spec?.template?.spec.containers[0]?.args).toEqual([
      'instance',
      '--config',
      '/etc/convoy/$(POD_NAME).json',
    ]);
    const ids = values.shards.map((_, ordinal) => {
      const file = files[`convoy-instance-${ordinal}.json`] ?? '{}';
      return (JSON.parse(file) as { id?: string }).id;
    });
    expect(ids).toEqual(values.shards);
  });

  test.each(cases)('gives the processes settings that they accept with $name', ({ values }) => {
    const manifests = rendered(values);
    const settings = settingsOf(manifests);
    const hasTls = 'tls' in values;
    for (const { name, env = [] } of podsOf(manifests).flatMap((pod) => pod.containers)) {
      if (name === 'redis') continue;
      const variables = environmentOf(env, values === least ? named(manifests, 'Secret', 'convoy-access') : null);
      const text = settings[name === 'instance' ? 'convoy-instance-0.json' : 'coordinator.json'] ?? '{}';
      const file: unknown = JSON.parse(text);
      const config = name === 'instance' ? parseInstanceConfig : parseCoordinatorConfig;
      expect(config({ file, env: variables })).toMatchObject({
        ...(hasTls && { tls: { certFile: '/etc/convoy-tls/tls.crt', keyFile: '/etc/convoy-tls/tls.key' } }),
        ...(values === least && { fleetSecret: expect.any(Secret) as Secret }),
        ...(values === least && name === 'coordinator' && { notify: { receivers: [{ name: 'pager' }] } }),
      });
    }
  });

  test('mounts certificates for all, and commands and Prometheus trust their authority', () => {
    const manifests = rendered(full);
    for (const pod of podsOf(manifests)) {
      expect(JSON.stringify(pod.volumes)).toContain('"name":"tls","secret":{"secretName":"own-certificate"');
      expect(pod.containers[0]?.volumeMounts).toContainEqual({
        name: 'tls',
        mountPath: '/etc/convoy-tls',
        readOnly: true,
      });
    }
    const [, coordinator] = podsOf(manifests).map(({ containers }) => containers[0]?.env ?? []);
    const [instance] = podsOf(manifests).map(({ containers }) => containers[0]?.env ?? []);
    expect([...(coordinator ?? []), ...(instance ?? [])]).toEqual(
      expect.arrayContaining([
        { name: 'CONVOY_URL', value: 'https://localhost:27180' },
        { name: 'CONVOY_CA_FILE', value: '/etc/convoy-tls/ca.crt' },
      ]),
    );
    const [endpoint] = named(manifests, 'PodMonitor', 'convoy').spec?.podMetricsEndpoints ?? [];
    expect(endpoint).toMatchObject({
      scheme: 'https',
      tlsConfig: { serverName: 'localhost', ca: { secret: { name: 'own-certificate', key: 'ca.crt' } } },
    });
  });

  test('gives Prometheus the labels that the alert rules and the board need', () => {
    for (const [values, fleet] of [
      [full, 'convoy'],
      [{ ...full, fleet: 'shop' }, 'shop'],
    ] as const) {
      const [endpoint] = named(rendered(values), 'PodMonitor', 'convoy').spec?.podMetricsEndpoints ?? [];
      expect(endpoint).toMatchObject({
        relabelings: [
          { targetLabel: 'job', replacement: 'convoy' },
          { targetLabel: 'fleet', replacement: fleet },
          { targetLabel: 'instance', sourceLabels: ['__meta_kubernetes_pod_name'] },
        ],
      });
    }
  });

  test('opens Redis to the fleet alone, and lets it go nowhere', () => {
    expect(named(rendered(least), 'NetworkPolicy', 'convoy-redis').spec?.egress).toEqual([]);
  });

  test.each([
    { wrong: 'no shards', values: { ...least, shards: [] }, message: /name the source's shards/ },
    { wrong: 'no token', values: { ...least, access: { ...least.access, token: '' } }, message: /existingSecret, or/ },
    { wrong: 'two ways to Redis', values: { ...least, redis: { ...least.redis, url: 'redis://r/' } }, message: /url/ },
    { wrong: 'a setting unknown', values: { ...least, instance: { settings: { lines: 4 } } }, message: /lines/ },
    { wrong: 'one shard twice', values: { ...least, shards: ['a', 'a'] }, message: /shards/ },
  ])('refuses $wrong', ({ values, message }) => {
    expect(() => helm('template', values)).toThrow(message);
  });
});
