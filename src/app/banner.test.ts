import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { styleFor } from '../cli/format.ts'
import { type BannerFacts, formatBanner } from './banner.ts'

const facts: BannerFacts = {
  version: '1.0.0',
  node: '20.20.2',
  data: '/var/lib/millrace',
  config: undefined,
  url: 'http://127.0.0.1:4600',
  publicUrl: undefined,
  metricsUrl: 'http://127.0.0.1:4601/metrics',
  console: {
    url: 'http://127.0.0.1:4600/console',
    setup: { link: 'http://127.0.0.1:4600/console/setup?code=K4J7' },
  },
  loopback: true,
  upstreams: [{ id: 'demo', where: 'built in, no network', models: 2 }],
  model: 'demo',
  accounts: { kind: 'first-run', credit: '10.00', key: { secret: 'mr_wallet_abc' } },
  command: (words) => `run ${words} --here`,
  notices: [],
  seconds: 0.41,
}
const banner = (changes: Partial<BannerFacts> = {}) => formatBanner(styleFor(false), { ...facts, ...changes })

/** What a shell makes of the printed curl line, with curl replaced by something that prints its arguments. */
function pasted(text: string): string[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.includes('curl -N'))
  const script = `curl() { for word in "$@"; do printf '%s\\n' "$word"; done; }\n${lines.slice(start, start + 3).join('\n')}`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n')
}

describe('formatBanner', () => {
  it('says how many workers there are, where there are several', () => {
    expect(banner({ workers: 4 })).toMatch(/node 20\.20\.2 {3}workers: 4\n/)
    expect(banner()).not.toContain('workers')
  })

  it('names the address that clients use, where it is known, and this machine for its health', () => {
    const text = banner({ publicUrl: 'https://llm.example.com' })
    expect(text).toContain('API      https://llm.example.com/v1\n')
    expect(text).toContain('Health   http://127.0.0.1:4600/healthz')
    expect(pasted(text)[1]).toBe('https://llm.example.com/v1/chat/completions')
  })

  it('shows a newcomer the key, the addresses and a line that can be pasted', () => {
    const text = banner()
    expect(text).toContain('Key (shown once):  mr_wallet_abc')
    expect(text).toContain('API      http://127.0.0.1:4600/v1')
    expect(text).toContain('    demo  built in, no network  2 models')
    expect(text).toContain('Ready in 0.4 s. Press Ctrl+C to stop.')
    expect(text).toContain('Console  http://127.0.0.1:4600/console\n')
    expect(text).toContain('Console sign-up:   http://127.0.0.1:4600/console/setup?code=K4J7   (valid 15 minutes)')
    expect(pasted(text)).toEqual([
      '-N',
      'http://127.0.0.1:4600/v1/chat/completions',
      '-H',
      'Authorization: Bearer mr_wallet_abc',
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}',
    ])
  })

  it('reads the key from its file, with any folder name', () => {
    const accounts = { kind: 'first-run', credit: '10.00', key: { file: "/tmp/it's $HOME/first-key" } } as const
    const text = banner({ accounts })
    expect(text).not.toContain('mr_wallet')
    expect(text).toContain(`Bearer $(cat '/tmp/it'\\''s $HOME/first-key')`)
  })

  it('does not mention a console that is switched off, nor a sign-up after the first person', () => {
    expect(banner({ console: undefined })).not.toContain('onsole')
    expect(banner({ console: { url: 'http://a/console', setup: undefined } })).not.toContain('sign-up')
    expect(banner({ console: { url: 'http://a/console', setup: { file: '/data/console-setup' } } })).toContain(
      'in the console is in  /data/console-setup',
    )
  })

  it('names the three commands without an account, with this configuration', () => {
    const accounts = { kind: 'no-account' } as const
    const text = banner({ accounts, loopback: false })
    const commands = text.split('\n').filter((line) => line.startsWith('    run '))
    expect(commands.map((line) => line.trim().split(' ').slice(0, 3).join(' '))).toEqual([
      ...['run accounts create', 'run wallet credit', 'run keys create'],
    ])
    expect(commands.every((line) => line.endsWith(' --here'))).toBe(true)
    expect(banner()).toContain('stop it and run:\n    run serve --host 0.0.0.0 --here\n')
    expect(text).not.toContain('curl')
    expect(text).toContain('put TLS in front')
  })

  it('is six lines once the server is in use', () => {
    const known = { url: 'http://127.0.0.1:4600/console', setup: undefined }
    const lines = banner({ accounts: { kind: 'in-use' }, console: known })
      .trimEnd()
      .split('\n')
    expect(lines.map((line) => line.split(/ +/)[0])).toEqual([
      ...['Millrace', 'Upstreams', 'API', 'Console', 'Metrics', 'Ready'],
    ])
  })
})
