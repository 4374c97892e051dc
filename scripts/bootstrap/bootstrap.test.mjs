import { spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { dependenciesStand, missingPackages } from './dependencies.mjs'
import { filesBelow, fingerprint } from './fingerprint.mjs'
import { staleOutputs } from './program.mjs'
import { nodeComplaint } from './require-node.mjs'
import { adviceFor, npmCommand } from './run-npm.mjs'
import { followNpm } from './signals-under-npm.mjs'
import { closingLine, countResults, neededLine, projectsLeftOut, suiteLines } from './test-results.mjs'
import { withLock } from './with-lock.mjs'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const folders = []
function temporary() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace bootstrap '))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const write = (root, path, text) => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

describe('the fingerprint', () => {
  it('changes with contents, names and facts, and with nothing else', () => {
    const root = temporary()
    write(root, 'a/one.ts', '1')
    write(root, 'b.ts', '2')
    const paths = filesBelow(root)
    expect(paths).toEqual(['a/one.ts', 'b.ts'])
    const first = fingerprint(root, paths, ['x'])
    expect(fingerprint(root, paths, ['x'])).toBe(first)
    expect(fingerprint(root, paths, ['y'])).not.toBe(first)
    write(root, 'b.ts', '3')
    expect(fingerprint(root, paths, ['x'])).not.toBe(first)
  })

  it('distinguishes a missing file from an empty one', () => {
    const root = temporary()
    const absent = fingerprint(root, ['a.ts'])
    write(root, 'a.ts', '')
    expect(fingerprint(root, ['a.ts'])).not.toBe(absent)
  })
})

describe('the lockfile against what is installed', () => {
  const machine = { platform: 'linux', arch: 'x64', libc: 'glibc' }
  const lock = {
    packages: {
      '': { name: 'root' },
      'node_modules/a': { version: '1.0.0', integrity: 'i' },
      'node_modules/mac': { version: '1.0.0', optional: true, os: ['darwin'] },
      'node_modules/musl': { version: '1.0.0', optional: true, os: ['linux'], libc: ['musl'] },
      'node_modules/native': { version: '1.0.0', optional: true, os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
      'node_modules/helper-of-mac': { version: '1.0.0', optional: true },
    },
  }
  const native = lock.packages['node_modules/native']

  it('requires only packages for this platform', () => {
    const installed = {
      packages: { 'node_modules/a': { version: '1.0.0', integrity: 'i' }, 'node_modules/native': native },
    }
    expect(missingPackages(lock, installed, machine)).toEqual([])
  })

  it('lists packages that are missing or have another version', () => {
    const installed = { packages: { 'node_modules/a': { version: '1.0.1', integrity: 'i' } } }
    expect(missingPackages(lock, installed, machine)).toEqual(['node_modules/a', 'node_modules/native'])
  })
})

it('old Node versions get a message, current ones do not', () => {
  expect(nodeComplaint('v18.20.4', '/usr/bin/node')).toMatch(/needs Node 20\.19 or newer; this is v18\.20\.4/)
  expect(nodeComplaint('v20.18.9', '/usr/bin/node')).toBeDefined()
  for (const version of ['v20.19.0', 'v22.0.0', 'v26.10.1']) expect(nodeComplaint(version, 'node')).toBeUndefined()
})

it('each npm failure has its own advice', () => {
  expect(adviceFor('npm error code ENOTFOUND')).toMatch(/registry cannot be reached/)
  expect(adviceFor('npm error code ENOSPC')).toMatch(/disk is full/)
  expect(adviceFor('npm error code EACCES')).toMatch(/owner/)
  expect(adviceFor('something new')).toMatch(/from npm/)
})

it('an npm_execpath of another package manager is ignored', () => {
  expect(npmCommand({ npm_execpath: '/opt/pnpm/bin/pnpm.cjs' }, '/nowhere/bin/node').command).toBe('npm')
})

it('files in dist without a source are stale, except those of the console, the documentation and the packages', () => {
  const ofTheSites = [
    '.millrace-console-stamp',
    'console/assets/index-1.js.br',
    '.millrace-docs-stamp',
    'docs/index.html',
    'packages/zod.js',
  ]
  const outputs = [
    ...ofTheSites,
    '.millrace-stamp',
    'app/main.js',
    'app/main.js.map',
    'app/gone.js',
    'data.json',
    'note.txt',
  ]
  expect(staleOutputs(outputs, ['app/main.ts', 'data.json'])).toEqual(['app/gone.js', 'note.txt'])
})

describe('the results of a test run', () => {
  const file = (status, ...tests) => ({ status, tests: tests.map((test) => ({ status: test, name: test })) })

  it('are summed up in one line', () => {
    const counts = countResults([file('passed', 'passed', 'skipped'), file('failed', 'failed')], 1)
    expect(closingLine(counts)).toBe('1 passed, 1 failed, 1 skipped')
  })

  it('count a file that cannot be loaded, and a run that failed without a failed test', () => {
    expect(closingLine(countResults([file('failed')], 1))).toBe('0 passed, 1 failed')
    expect(closingLine(countResults([file('passed', 'passed')], 1))).toBe('1 passed, 1 failed')
    expect(closingLine(countResults(undefined, 1))).toBe('0 passed, 1 failed')
  })

  it('state how long each suite took', () => {
    const of = (suite, ms) => ({ ...file('passed', 'passed'), suite, ms })
    expect(suiteLines([of('unit', 1200), of('e2e', 90_000), of('unit', 400)])).toEqual([
      'suite unit: 2 s of work in 2 files, 2 tests',
      'suite e2e: 90 s of work in 1 files, 1 tests',
    ])
  })

  it('state whether the browser suites ran', () => {
    const suite = (status) => [{ path: 'test/browser/shell.test.mjs', tests: [{ status, name: 'walks' }] }]
    expect(neededLine(suite('passed'))).toContain('need a browser ran here')
    expect(neededLine(suite('skipped'))).toContain('need a browser did not run')
    expect(neededLine(suite('passed'), ['browser'])).not.toContain('browser')
  })

  it('state whether the PostgreSQL suites ran', () => {
    const suite = (status) => [{ path: 'test/postgres/contract.test.ts', tests: [{ status, name: 'holds' }] }]
    expect(neededLine(suite('passed'))).toContain('ran here')
    expect(neededLine(suite('skipped'))).toContain('did not run')
    expect(neededLine([file('passed', 'passed')])).toContain('did not run')
    expect(neededLine(undefined)).toContain('did not run')
  })
})

it('the excluded projects are read from the arguments', () => {
  expect(projectsLeftOut([])).toEqual([])
  expect(projectsLeftOut(['--project', '!browser'])).toEqual(['browser'])
  expect(projectsLeftOut(['--project', 'browser'])).toBeUndefined()
  expect(projectsLeftOut(['src/lib'])).toBeUndefined()
})

describe('the lock', () => {
  it('admits one process at a time', async () => {
    const path = join(temporary(), 'lock')
    let inside = 0
    const visit = () =>
      withLock(path, { print: () => {} }, async () => {
        inside += 1
        expect(inside).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 5))
        inside -= 1
      })
    // The same process id in the lock file means an earlier process, so each contender must be a process of its own.
    const contender = `
      import { appendFileSync } from 'node:fs'
      import { withLock } from ${JSON.stringify(new URL('./with-lock.mjs', import.meta.url).href)}
      await withLock(process.argv[1], { print: () => {} }, async () => {
        appendFileSync(process.argv[1] + '.log', 'in ')
        await new Promise((resolve) => setTimeout(resolve, 30))
        appendFileSync(process.argv[1] + '.log', 'out ')
      })`
    const children = [1, 2, 3].map(() => spawn(process.execPath, ['--input-type=module', '-e', contender, path]))
    await Promise.all([visit(), ...children.map((child) => once(child, 'exit'))])
    expect(readFileSync(`${path}.log`, 'utf8')).toBe('in out in out in out ')
    expect(existsSync(path)).toBe(false)
  })

  it('of a dead process is taken over', async () => {
    const path = join(temporary(), 'lock')
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    writeFileSync(path, `${pid}\n`)
    expect(await withLock(path, { print: () => {} }, async () => 'done')).toBe('done')
  })
})

describe('signals under npm', () => {
  function listener() {
    const target = Object.assign(new EventEmitter(), { ppid: 1, pid: 2, kill: (_pid, signal) => target.emit(signal) })
    const clock = { time: 1000 }
    const stop = followNpm(target, () => clock.time)
    const heard = []
    target.on('SIGINT', () => heard.push('SIGINT')).on('SIGTERM', () => heard.push('SIGTERM'))
    return { target, clock, heard, stop }
  }

  it('count once if npm duplicates them, and twice if a person presses twice', () => {
    const { target, clock, heard, stop } = listener()
    target.emit('SIGINT')
    clock.time += 20
    target.emit('SIGINT')
    expect(heard).toEqual(['SIGINT'])
    clock.time += 900
    target.emit('SIGINT')
    expect(heard).toEqual(['SIGINT', 'SIGINT'])
    stop()
  })

  it('count even if the shell died with them', async () => {
    const { target, heard, stop } = listener()
    target.ppid = 99
    await once(target, 'SIGTERM')
    expect(heard).toEqual(['SIGTERM'])
    stop()
  })
})

describe('a copy of the checkout, in a folder with a space in its name, without git', () => {
  const root = join(temporary(), 'a copy')
  const bootstrap = () => spawnSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs')], { encoding: 'utf8' })
  const copy = () => {
    for (const part of ['scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) {
      cpSync(join(CHECKOUT, part), join(root, part), { recursive: true })
    }
    mkdirSync(join(root, 'node_modules'))
    for (const part of ['typescript', '@typescript', '@types', 'undici-types']) {
      const target = join(CHECKOUT, 'node_modules', part)
      if (existsSync(target)) symlinkSync(target, join(root, 'node_modules', part), 'junction')
    }
    cpSync(join(CHECKOUT, 'node_modules/.package-lock.json'), join(root, 'node_modules/.package-lock.json'))
    write(root, 'src/app/main.ts', `export const answer: number = 42\n`)
    write(root, 'src/app/old.ts', `export const old = true\n`)
  }

  it('accepts matching packages, builds, and prints nothing the second time', () => {
    copy()
    const first = bootstrap()
    expect(first.stderr).toMatch(/^Building \.\.\.\nBuilt in [\d.]+ s\.\n$/)
    expect(first.status).toBe(0)
    expect(dependenciesStand(root)).toBe(true)
    expect(statSync(join(root, 'dist/app/main.js')).mode & 0o111).toBe(process.platform === 'win32' ? 0 : 0o111)
    const second = bootstrap()
    expect([second.stdout, second.stderr, second.status]).toEqual(['', '', 0])
  })

  it('builds again after a change and removes stale files', () => {
    rmSync(join(root, 'src/app/old.ts'))
    write(root, 'src/app/beside.test.ts', `a test decides nothing`)
    expect(bootstrap().stderr).toMatch(/Built in/)
    expect(existsSync(join(root, 'dist/app/old.js'))).toBe(false)
    write(root, 'src/app/beside.test.ts', `nor does its change`)
    expect(bootstrap().stderr).toBe('')
  })

  it('shows the compiler’s output if the build fails, and keeps the last good build', () => {
    write(root, 'src/app/main.ts', `export const answer: number = 'many'\n`)
    const broken = bootstrap()
    expect(broken.status).toBe(1)
    expect(broken.stderr).toMatch(/src\/app\/main\.ts\(1,14\).*\n\nThe build failed\.\nCorrect the lines/s)
    expect(readFileSync(join(root, 'dist/app/main.js'), 'utf8')).toMatch(/42/)
    expect(bootstrap().status).toBe(1)
  })
})
