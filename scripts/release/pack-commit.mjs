import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeChecksums } from './checksums.mjs'

/** Makes all files of a release from a clone of the last commit, with a umask of its own. Returns the folders and the checksums. */
export async function packCommit({ root, folder, umask, withDeb = false }) {
  const inShell = (line, cwd) => run('bash', ['-ec', `umask ${umask}; ${line}`], cwd)
  await inShell(`git clone --quiet "${root}" "${folder}"`, root)
  // Links to the files, not to the folder: a clone that installs again must not empty the folder of this one.
  if (existsSync(join(root, 'node_modules')))
    await run('cp', ['-al', join(root, 'node_modules'), join(folder, 'node_modules')], root)
  const out = join(folder, 'release')
  await inShell('node scripts/pack.mjs', folder)
  if (withDeb) await inShell('node scripts/make-deb.mjs', folder)
  const names = readdirSync(out).filter((name) => name !== 'SHA256SUMS')
  return { clone: folder, out, names, sums: writeChecksums(out, names) }
}

function run(command, args, cwd) {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`)),
    )
  })
}
