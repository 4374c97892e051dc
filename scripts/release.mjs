import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, fail } from './bootstrap/failure.mjs'
import { packCommit } from './release/pack-commit.mjs'
import { git, refusalsOf, refusalsOfBuild, tagOf } from './release/refusals.mjs'

// npm run release -- --dry-run: checks that this commit can be released, makes its files twice from clones and compares them, and says what
// would be tagged. It leaves nothing behind. Without --dry-run it keeps the files in --out (release/) and makes the tag. It never pushes.
const ROOT = resolve(import.meta.dirname, '..')
const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, out: { type: 'string', default: join(ROOT, 'release') } },
})

const print = (line) => process.stdout.write(`${line}\n`)
await release({ isDry: values['dry-run'], out: resolve(values.out) }).catch(fail)

async function release({ isDry, out }) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  refuseIf(version, refusalsOf(ROOT))
  const commit = git(ROOT, 'rev-parse', 'HEAD')
  const work = mkdtempSync(join(tmpdir(), 'millrace-release-'))
  try {
    const made = await packTwice(work)
    refuseIf(version, await refusalsOfBuild(made.clone))
    const files = [...made.names, 'SHA256SUMS']
    print(`Millrace ${version}, commit ${commit.slice(0, 12)}. Two builds are equal byte for byte.\n`)
    for (const name of files) print(`${sizeOf(join(made.out, name))}  ${name}`)
    print(`\n${made.sums}`)
    print('The image is made where containers are built:')
    print(`  docker build --file deploy/container/Containerfile --tag millrace:${version} .`)
    const tagging = ['tag', '--annotate', tagOf(version), '--message', `Millrace ${version}`, commit]
    if (isDry) {
      print(
        `\nDry run: nothing was kept. Without --dry-run the files stay in ${out}, and the commit is tagged ${tagOf(version)}.`,
      )
      return
    }
    mkdirSync(out, { recursive: true })
    for (const name of files) cpSync(join(made.out, name), join(out, name))
    git(ROOT, ...tagging)
    print(`\nTagged ${tagOf(version)}; the files are in ${out}. Push the tag when you publish them.`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** In folders of other names, and with other modes of files. */
async function packTwice(work) {
  const withDeb = spawnSync('dpkg-deb', ['--version']).status === 0
  if (!withDeb) print('There is no dpkg-deb here, so no Debian package.')
  const [first, second] = [
    await packCommit({ root: ROOT, folder: join(work, 'first'), umask: '022', withDeb }),
    await packCommit({ root: ROOT, folder: join(work, 'second clone'), umask: '077', withDeb }),
  ]
  if (first.sums !== second.sums)
    throw new Failure(
      `Two builds of one commit differ:\n${first.sums}\n${second.sums}`,
      'Find what depends on the folder or the time.',
    )
  return first
}

function refuseIf(version, refusals) {
  if (refusals.length > 0)
    throw new Failure(`Version ${version} cannot be released:\n- ${refusals.join('\n- ')}`, 'Mend this first.')
}

function sizeOf(path) {
  return `${Math.ceil(statSync(path).size / 1000).toLocaleString('en-US')} kB`.padStart(12)
}
