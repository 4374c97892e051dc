// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { describe, expect, test } from 'vitest'
import { load, loaded, placesOf, problemsOf } from '../../test/fixtures/config/config.ts'

const yaml = 'server: { port: 5000, host: 10.0.0.1 }\nstorage: { data: ./here }'
const portOf = (world: Parameters<typeof loaded>[0]) => loaded(world).config.server.port

describe('precedence', () => {
  test('is flag, variable, file, default', () => {
    const environment = { PORT: '5001', MILLRACE_SERVER__PORT: '5002', MILLRACE_PORT: '5003' }
    expect(portOf({})).toBe(4600)
    expect(portOf({ yaml })).toBe(5000)
    expect(portOf({ yaml, environment: { PORT: '5001' } })).toBe(5001)
    expect(portOf({ yaml, environment: { PORT: '5001', MILLRACE_SERVER__PORT: '5002' } })).toBe(5002)
    expect(portOf({ yaml, environment })).toBe(5003)
    expect(portOf({ yaml, environment, flags: { port: 5004 } })).toBe(5004)
  })

  test('an empty variable counts as unset', () => {
    expect(portOf({ yaml, environment: { MILLRACE_PORT: '', PORT: '', MILLRACE_SERVER__PORT: '' } })).toBe(5000)
  })

  test('the MILLRACE_PORT of Kubernetes is ignored', () => {
    expect(portOf({ yaml, environment: { MILLRACE_PORT: 'tcp://10.1.2.3:4600' } })).toBe(5000)
  })

  test('origins say where each key was set', () => {
    const { origins } = loaded({ yaml, environment: { MILLRACE_HOST: '0.0.0.0' }, flags: { port: 5004 } })
    expect(origins.get('server.port')).toEqual({ origin: '--port' })
    expect(origins.get('server.host')).toEqual({ origin: 'MILLRACE_HOST' })
    expect(origins.get('storage.data')).toEqual({ origin: '/srv/millrace.yaml', line: 2, column: 18 })
    expect(origins.has('server.metrics_port')).toBe(false)
  })
})

describe('a variable', () => {
  test('may hold a comma-separated list, a flag or a choice', () => {
    const environment = {
      MILLRACE_SERVER__ALLOWED_ORIGINS: 'https://a.b, http://c.d:1',
      MILLRACE_TELEMETRY__METRICS: 'false',
      MILLRACE_TELEMETRY__LOG__LEVEL: 'debug',
      MILLRACE_LIMITS__KEY__CONCURRENT: '8',
    }
    const { config } = loaded({ environment })
    expect(config.server.allowedOrigins).toEqual(['https://a.b', 'http://c.d:1'])
    expect(config.telemetry).toMatchObject({ metrics: false, log: { level: 'debug', format: 'auto' } })
    expect(config.limits.key.concurrent).toBe(8)
  })

  test.each([
    ['MILLRACE_SERVER__PROT', '1', 'server.prot', 'Did you mean PORT?'],
    ['MILLRACE_NOTHING__AT_ALL', '1', 'nothing.at_all', 'Unset the variable.'],
    ['MILLRACE_SERVER__TRUST_PROXY__0', '1', 'server.trust_proxy.0', 'Write it into the file.'],
    ['MILLRACE_SERVER__PORT__FIRST', '1', 'server.port.first', 'Unset the variable.'],
    ['MILLRACE_LIMITS__KEY', '1', 'limits.key', 'Write it into the file.'],
    ['MILLRACE_DRAIN__TIMEOUT', '30', 'drain.timeout', 'Write a duration'],
    ['MILLRACE_PORT', 'http', 'server.port', 'Write a whole number'],
  ])('%s=%s is reported by its name', (name, value, path, cure) => {
    const environment = { [name]: value }
    const [problem, ...others] = problemsOf({ environment })
    expect(others).toEqual([])
    expect(problem).toMatchObject({ place: { origin: name } })
    if (path !== 'server.trust_proxy.0')
      expect([problem?.path, problem?.cure]).toEqual([path, expect.stringContaining(cure)])
  })

  test('named MILLRACE_ without two underscores may be used in a reference', () => {
    expect(
      loaded({ yaml: 'server: { host: "${MILLRACE_MINE}" }', environment: { MILLRACE_MINE: '::1' } }).config.server
        .host,
    ).toBe('::1')
  })
})

describe('the secret key', () => {
  const secret = 's'.repeat(40)

  test('comes from its variable or from the file that a variable names', () => {
    expect(loaded({ environment: { MILLRACE_SECRET_KEY: secret } }).config.keyring.secretKey).toBe(secret)
    const world = { files: { '/run/key': `${secret}\n` }, environment: { MILLRACE_SECRET_KEY_FILE: '/run/key' } }
    expect(loaded(world).config.keyring.secretKey).toBe(secret)
  })

  test('may be several secrets separated by spaces or lines, each long enough', () => {
    const secrets = `${'n'.repeat(32)} ${secret}`
    expect(loaded({ environment: { MILLRACE_SECRET_KEY: secrets } }).config.keyring.secretKey).toBe(secrets)
    const lines = { '/run/key': `${secrets.replace(' ', '\n')}\n` }
    const world = { files: lines, environment: { MILLRACE_SECRET_KEY_FILE: '/run/key' } }
    expect(loaded(world).config.keyring.secretKey).toBe(secrets.replace(' ', '\n'))
    const [short] = problemsOf({ environment: { MILLRACE_SECRET_KEY: `${secret} hunter2` } })
    expect(short?.message).toContain('spaces between')
    expect(JSON.stringify(short)).not.toMatch(/hunter2|sss/)
  })

  test('is not shown when it is named twice, missing or too short', () => {
    const both = { MILLRACE_SECRET_KEY: secret, MILLRACE_SECRET_KEY_FILE: '/run/key' }
    expect(placesOf({ environment: both })).toEqual(['MILLRACE_SECRET_KEY_FILE key_ring.secret_key'])
    expect(placesOf({ environment: { MILLRACE_SECRET_KEY_FILE: '/none' } })).toHaveLength(1)
    const [short] = problemsOf({ environment: { MILLRACE_SECRET_KEY: 'hunter2' } })
    expect(short?.message).toContain('a text of 7 characters')
    expect(JSON.stringify(short)).not.toContain('hunter2')
  })
})

describe('the file', () => {
  const text = 'server: { port: 5000 }'
  const places = {
    named: '/opt/m.yaml',
    variable: '/opt/v.yaml',
    here: '/srv/millrace.yaml',
    xdg: '/home/op/.config/millrace/millrace.yaml',
    etc: '/etc/millrace/millrace.yaml',
  }
  const world = (...there: (keyof typeof places)[]) => ({
    files: Object.fromEntries(there.map((name) => [places[name], text])),
  })

  test('is the first existing one, in order', () => {
    expect(loaded(world('here', 'xdg', 'etc')).origin).toEqual({
      kind: 'file',
      path: places.here,
      via: 'the working folder',
    })
    expect(loaded(world('xdg', 'etc')).origin).toMatchObject({ path: places.xdg })
    expect(loaded(world('etc')).origin).toMatchObject({ path: places.etc })
    const environment = { MILLRACE_CONFIG: '../opt/v.yaml' }
    expect(loaded({ ...world('variable', 'here'), environment }).origin).toMatchObject({
      path: places.variable,
      via: 'MILLRACE_CONFIG',
    })
    const flags = { config: '/opt/m.yaml' }
    expect(loaded({ ...world('named', 'variable'), environment, flags }).origin).toMatchObject({
      path: places.named,
      via: '--config',
    })
  })

  test('is an error when it was named and does not exist', () => {
    expect(placesOf({ ...world('here'), flags: { config: 'nowhere.yaml' } })).toEqual(['/srv/nowhere.yaml '])
    expect(placesOf({ ...world('here'), environment: { MILLRACE_CONFIG: '/nowhere' } })).toEqual(['/nowhere '])
  })
})

describe('the data folder', () => {
  const dataOf = (world: Parameters<typeof loaded>[0]) => loaded(world).config.storage.data

  test('is the flag’s, the variable’s, the file’s, the XDG one', () => {
    const environment = { XDG_DATA_HOME: '/xdg', MILLRACE_DATA: 'var' }
    expect(dataOf({ yaml, environment, flags: { data: 'flag' } })).toBe('/srv/flag')
    expect(dataOf({ yaml, environment })).toBe('/srv/var')
    expect(dataOf({ yaml, environment: { XDG_DATA_HOME: '/xdg' } })).toBe('/srv/here')
    expect(dataOf({ environment: { XDG_DATA_HOME: '/xdg' } })).toBe('/xdg/millrace')
    expect(dataOf({})).toBe('/home/op/.local/share/millrace')
  })

  test('of the file is relative to the file', () => {
    const files = { '/etc/millrace/millrace.yaml': yaml }
    expect(dataOf({ files, flags: { config: '/etc/millrace/millrace.yaml' } })).toBe('/etc/millrace/here')
  })

  test('is required without a home folder', () => {
    const outcome = load({ environment: { HOME: '' } })
    expect(outcome).toMatchObject({ kind: 'invalid', problems: [{ path: 'storage.data' }] })
  })
})
