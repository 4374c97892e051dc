import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, HEALTHY, KEY, known, makeHealthy, openBench } from '../../../test/fixtures/doctor/bench.ts'
import { BROKEN_CONFIGURATIONS } from '../../../test/fixtures/doctor/broken-configurations.ts'
import { BROKEN_FOLDERS, BROKEN_MACHINES, BROKEN_SERVERS } from '../../../test/fixtures/doctor/broken-machines.ts'
import { FAULTS, type FaultId } from './faults.ts'

let healthy: string
let bench: Bench

beforeAll(async () => {
  healthy = await makeHealthy()
})
afterAll(() => rm(healthy, { recursive: true }))
afterEach(() => bench.close())

/** These need a PostgreSQL or a taken port 4601: test/postgres/doctor.test.ts, and the test of 4601 below. */
const ELSEWHERE: readonly FaultId[] = [
  'postgres-unreachable',
  'postgres-unsuitable',
  'postgres-too-few-connections',
  'metrics-port-moves',
]

/** A user without rights. */
const OTHER_UID = 65_534

const ALL = [
  ...[...BROKEN_CONFIGURATIONS, ...BROKEN_MACHINES, ...BROKEN_SERVERS].map((each) => ({ ...each, withLedger: false })),
  ...BROKEN_FOLDERS.map((each) => ({ ...each, withLedger: true })),
]

describe('the doctor', () => {
  it('finds nothing in a healthy set-up, says what it examined, and changes nothing', async () => {
    bench = await openBench(healthy, { withLedger: true })
    const before = await readFile(bench.inData('ledger.db'))
    const report = await bench.examine()
    expect(report.findings).toEqual([])
    expect(report.ok).toBe(true)
    expect(report.examined.map(({ area }) => area)).toEqual([
      'configuration',
      'machine',
      'data folder',
      'server',
      'ports',
    ])
    expect(report.skipped).toEqual([expect.stringContaining('millrace doctor --online')])
    expect((await bench.examine({ online: true })).findings).toEqual([])
    expect(await readFile(bench.inData('ledger.db'))).toEqual(before)
  })

  it('finds nothing before the first start, and creates nothing', async () => {
    bench = await openBench(healthy, { withLedger: false })
    await rm(bench.data, { recursive: true })
    expect((await bench.examine()).findings).toEqual([])
    await expect(readFile(bench.inData('keyring.json'))).rejects.toThrow('ENOENT')
    await mkdir(bench.data)
  })

  it.each(ALL.map((each) => [`${each.fault}${each.as === undefined ? '' : `: ${each.as}`}`, each] as const))(
    'finds %s, and only that',
    async (_, { fault, breakIt, says, cure, online, withLedger }) => {
      bench = await openBench(healthy, { withLedger })
      await breakIt(bench)
      const report = await bench.examine({ online: online === true })
      expect(report.findings.map((finding) => finding.fault)).toEqual([fault])
      const [finding] = report.findings
      expect(finding?.message).toMatch(says)
      expect(finding?.cure).toMatch(cure ?? /./)
      expect(report.ok).toBe(FAULTS[fault].severity === 'warning')
    },
  )

  it.skipIf(process.geteuid?.() !== 0)('finds that the folder of another user is closed to it', async () => {
    bench = await openBench(healthy, { withLedger: true })
    await chmod(bench.folder, 0o755)
    await chmod(bench.inFolder('millrace.yaml'), 0o644)
    const examineAs = async (uid: number) => {
      bench.machine = { ...bench.machine, uid, user: 'llm' }
      process.seteuid?.(uid)
      try {
        return (await bench.examine()).findings.map(({ fault, message, cure }) => ({ fault, message, cure }))
      } finally {
        process.seteuid?.(0)
      }
    }
    expect(await examineAs(OTHER_UID)).toEqual([
      {
        fault: 'data-not-writable',
        message: `This user (uid ${OTHER_UID}) does not own ${bench.data}, which belongs to uid 0.`,
        cure: `chown -R llm ${bench.data}`,
      },
    ])
    await mkdir(bench.inFolder('closed'), { mode: 0o700 })
    await rename(bench.data, bench.inFolder('closed/data'))
    await symlink('closed/data', bench.data)
    expect(await examineAs(OTHER_UID)).toEqual([
      {
        fault: 'data-not-writable',
        message: `This user (uid ${OTHER_UID}) may not look at ${bench.data}, because of a folder above it.`,
        cure: expect.stringContaining('Run the doctor as the user'),
      },
    ])
  })

  it('has a set-up for each fault of its table', async () => {
    bench = await openBench(healthy, { withLedger: false })
    const shown = new Set([...ALL.map(({ fault }) => fault), ...ELSEWHERE])
    expect(Object.keys(FAULTS).filter((fault) => !shown.has(fault as FaultId))).toEqual([])
    expect(Object.keys(FAULTS).length).toBeGreaterThanOrEqual(30)
  })

  it('warns where the default metrics port is taken', async () => {
    bench = await openBench(healthy, { withLedger: false })
    const other = createServer((socket) => socket.destroy())
    const isFree = await new Promise((resolve) => {
      other.once('error', () => resolve(false))
      other.listen(4601, '127.0.0.1', () => resolve(true))
    })
    if (isFree) bench.closeLater(() => new Promise((resolve) => other.close(resolve)))
    await bench.writeConfig(HEALTHY.replace(', metrics_port: 0', ''))
    const report = await bench.examine()
    expect(report.findings.map(({ fault }) => fault)).toEqual(['metrics-port-moves'])
  })

  it('puts what is broken first, and never shows a secret', async () => {
    bench = await openBench(healthy, { withLedger: true })
    await bench.writeConfig(
      known(200_000, '9').replace(KEY, 'sk-written-into-the-file-0123456789').replace('responses', 'respones'),
    )
    await chmod(bench.inFolder('millrace.yaml'), 0o644)
    await chmod(bench.data, 0o755)
    const report = await bench.examine()
    expect(JSON.stringify(report)).not.toContain('sk-written')
    await bench.writeConfig(known(200_000, '9'))
    await writeFile(bench.inData('keyring.json'), 'sk-secret-of-the-ring')
    const second = await bench.examine()
    expect(JSON.stringify(second)).not.toContain('sk-secret')
    expect(second.findings.map(({ severity }) => severity)).toEqual(['broken', 'warning', 'warning', 'warning'])
  })
})
