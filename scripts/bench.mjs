import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from './bootstrap/failure.mjs'
import { bootstrap, ROOT } from './bootstrap.mjs'

// npm run bench -- NAME [arguments]: builds if needed, then runs bench/NAME.mjs.
await bootstrap().catch(fail)
const [name = '', ...args] = process.argv.slice(2)
const file = join(ROOT, 'bench', `${name}.mjs`)
if (!/^[\w-]+$/.test(name) || !existsSync(file)) {
  const names = readdirSync(join(ROOT, 'bench')).filter((entry) => entry.endsWith('.mjs'))
  console.error(`Name a benchmark: npm run bench -- ${names.map((entry) => entry.replace('.mjs', '')).join(' | ')}`)
  process.exitCode = 2
} else {
  spawn(process.execPath, [file, ...args], { stdio: 'inherit' }).once('close', (code) => {
    process.exitCode = code ?? 1
  })
}
