import { expect, it } from 'vitest'
import { commandLine } from '../../test/fixtures/cli/run-cli.ts'

const finding = (severity: 'broken' | 'warning') => ({
  ...{
    fault: 'port-taken',
    area: 'ports',
    severity,
    message: 'Port 1 is taken.\nBy another.',
    why: 'It does not start.',
  },
  cure: 'Stop it: millrace status',
})
const report = (...findings: ReturnType<typeof finding>[]) => ({
  ...{ ok: findings.every(({ severity }) => severity === 'warning'), findings, skipped: ['Providers: not called.'] },
  examined: [{ area: 'ports', at: '1 and 2' }],
})

it('prints each finding with its reason and its cure, ready to paste, and what was examined on stderr', async () => {
  const { emitted, run } = commandLine({ doctor: report(finding('broken')), program: 'node main.js' })
  expect(await run('doctor --data d')).toBe(1)
  expect(emitted.err).toBe('Examined:\n  ports  1 and 2\n  Providers: not called.\n\n')
  expect(emitted.out).toBe(
    [
      'broken   Port 1 is taken.\n         By another.  [port-taken]',
      '         Why:  It does not start.',
      '         Cure: Stop it: node main.js --data d status',
      '',
      '1 broken, 0 warnings.\n',
    ].join('\n'),
  )
})

it('exits with 0 for warnings and without a finding', async () => {
  const warned = commandLine({ doctor: report(finding('warning')) })
  expect(await warned.run('doctor')).toBe(0)
  expect(warned.emitted.out).toContain('0 broken, 1 warning.')
  const healthy = commandLine()
  expect(await healthy.run('doctor')).toBe(0)
  expect(healthy.emitted.out).toBe('No fault found.\n')
})

it('has the same findings as JSON', async () => {
  const { emitted, run } = commandLine({ doctor: report(finding('broken')) })
  expect(await run('doctor --json')).toBe(1)
  expect(JSON.parse(emitted.out)).toMatchObject({ ok: false, findings: [{ fault: 'port-taken' }], examined: [{}] })
})

it('check --pin says what it has pinned and what changes, and stops at an invalid file', async () => {
  const { emitted, run } = commandLine()
  expect(await run('check --pin')).toBe(0)
  expect(emitted.err).toBe(
    'Pinned 2 models in millrace.lock.yaml. Keep it with the configuration.\n  1 model changed price: openai/gpt-5.\n',
  )
  expect(await commandLine().run('check --pin --config bad.yaml')).toBe(2)
})

it('check refuses warnings only with --strict', async () => {
  for (const [line, exit] of [
    ['check --config odd.yaml', 0],
    ['check --config odd.yaml --strict', 1],
    ['check --strict', 0],
    ['check --config bad.yaml --strict', 2],
  ] as const)
    expect(await commandLine().run(line)).toBe(exit)
})
