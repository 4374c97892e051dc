import { isIP } from 'node:net'
import { duration, integer, maybeText, read, scalar, size, text, wrong } from './scalars.ts'
import { list, section } from './section.ts'

export const serverSchema = section('Where the server listens and whom it believes.', {
  host: text('Address to listen on. Anything but a loopback address lets others in.', {
    pattern: /^[A-Za-z0-9.:_%-]+$/,
    expected: 'a host name or an address, such as 127.0.0.1, 0.0.0.0 or ::',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  port: integer('Port of the API and the console. 0 takes any free one.', { min: 0, max: 65535 }).prefault(4600),
  public_url: maybeText('How clients reach this server from outside, without /v1; null: by host and port.', (url) =>
    isWebUrl(url) && !/\/v1\/?$/.test(url)
      ? read(url.replace(/\/+$/, ''))
      : wrong('an address such as https://llm.example.com', 'http or https, without /v1, query or password.'),
  ).prefault(null),
  metrics_host: text('Address of /metrics.', {
    pattern: /^[A-Za-z0-9.:_%-]+$/,
    expected: 'a host name or an address',
    charactersMax: 255,
  }).prefault('127.0.0.1'),
  metrics_port: integer('Port of /metrics. 0 takes any free one.', { min: 0, max: 65535 }).prefault(4601),
  trust_proxy: list(
    'Reverse proxies whose X-Forwarded-For is believed: addresses or networks.',
    scalar('An address or a network.', { type: 'string', examples: ['10.0.0.0/8'] }, (value) =>
      typeof value === 'string' && isNetwork(value) ? read(value) : wrong('an address or a network such as 10.0.0.0/8'),
    ),
  ),
  // Each takes a file descriptor and some ten kilobytes, whoever it belongs to: the one bound on those without a key.
  max_connections: integer('Connections that are open at once; one more is closed at once.', {
    min: 10,
    max: 1_000_000,
  }).prefault(10_000),
  workers: integer('Processes that serve. More than one needs PostgreSQL.', { min: 1, max: 256 }).prefault(1),
  allowed_origins: list(
    'Web pages that may call /v1 from a browser. Keys in a public page are everybody’s keys: think twice.',
    scalar('An origin.', { type: 'string', examples: ['https://app.example.com'] }, (value) =>
      typeof value === 'string' && isOrigin(value)
        ? read(value)
        : wrong(
            'an origin such as https://app.example.com',
            'Scheme, host and port only: no path, no slash at the end.',
          ),
    ),
  ),
})

export const boundsSchema = section('The most that one request may ask of the server before it is understood.', {
  body_bytes: size('Body after decompression.', { min: '1KiB', max: '256MiB' }).prefault('32MiB'),
  expansion_ratio: integer('How many times larger than itself a compressed body may become.', {
    min: 1,
    max: 10_000,
  }).prefault(100),
  json_values: integer('Values in a body.', { min: 100, max: 10_000_000 }).prefault(200_000),
  json_depth: integer('Nesting of a body.', { min: 8, max: 1000 }).prefault(64),
  header_bytes: size('The request line and all headers of a request together, as they are sent.', {
    min: '4KiB',
    max: '1MiB',
  }).prefault('16KiB'),
  header_timeout: duration('Until all headers have come.', { min: '100ms', max: '10m' }).prefault('10s'),
  // A coding agent sends megabytes over thin lines; the time of the answer is not part of it.
  request_timeout: duration('Until the whole body has come.', { min: '100ms', max: '1h' }).prefault('60s'),
  // Longer than the idle time of common load balancers, so that they and not we close first.
  keep_alive_timeout: duration('How long an idle connection is kept for its next request.', {
    min: '0s',
    max: '1h',
  }).prefault('75s'),
  frame_bytes: size('One event, or one line of an event, of a provider’s stream.', {
    min: '64KiB',
    max: '64MiB',
  }).prefault('4MiB'),
})

export const drainSchema = section('What happens between SIGTERM and the end.', {
  timeout: duration('How long running answers may go on. A second signal cuts them.', {
    min: '0s',
    max: '1h',
  }).prefault('30s'),
  linger: duration('How long new requests are still taken while /readyz says no. 5s behind a load balancer.', {
    min: '0s',
    max: '10m',
  }).prefault('0s'),
})

function isWebUrl(written: string): boolean {
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  return /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
}

function isNetwork(written: string): boolean {
  const [address = '', bits, ...more] = written.split('/')
  const family = isIP(address)
  // A zone such as %eth0 names a link of this machine, and no proxy.
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const isOrigin = (written: string): boolean =>
  URL.canParse(written) && /^https?:/.test(written) && new URL(written).origin === written
