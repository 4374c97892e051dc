import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compressAll } from './console.mjs'
import { explainWrite } from './failure.mjs'
import { filesBelow, fingerprint, textOf } from './fingerprint.mjs'

/** Beside the folder of the documentation, because everything inside is served. */
export const DOCS_STAMP_NAME = '.millrace-docs-stamp'
const STAMP = `dist/${DOCS_STAMP_NAME}`
const BUILT = '.cache/docs'
const SHIPPED = 'dist/docs'

const SOURCES = ['docs', 'scripts/docs-site']

const stampOf = (root) =>
  fingerprint(root, [
    'package-lock.json',
    ...SOURCES.flatMap((folder) => filesBelow(join(root, folder)).map((path) => `${folder}/${path}`)),
  ])

/** Without pages there is nothing to build. */
export const docsStand = (root) =>
  textOf(join(root, 'docs/README.md')) === undefined ||
  (textOf(join(root, STAMP)) === stampOf(root) && textOf(join(root, SHIPPED, 'index.html')) !== undefined)

export async function buildDocs({ root, print }) {
  const started = Date.now()
  const stamp = stampOf(root)
  // Its packages are installed by now.
  const { buildSite } = await import('../docs-site/build-site.mjs')
  try {
    const pages = buildSite(root, join(root, BUILT))
    compressAll(join(root, BUILT))
    rmSync(join(root, STAMP), { force: true })
    rmSync(join(root, SHIPPED), { recursive: true, force: true })
    cpSync(join(root, BUILT), join(root, SHIPPED), { recursive: true })
    writeFileSync(join(root, STAMP), stamp)
    print(`Built ${pages} pages of documentation in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
  } catch (error) {
    throw explainWrite(error, root)
  }
}
