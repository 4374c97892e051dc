import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, minifySync, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const PLACE = '<!-- before app -->'
const BEHIND_FRAME = '<!-- after the frame -->'
const STYLES = /\n\s*(<link rel="stylesheet"[^>]*>)/

/**
 * The theme must be set before the first paint and the error handler before the app, so a small classic script blocks
 * the page for a moment. The content security policy forbids inline scripts, and Vite bundles only modules, which do
 * not block.
 */
function scriptBeforeApp(): Plugin {
  const { code: source } = minifySync('before-app.js', readFileSync(here('assets/before-app.js'), 'utf8'))
  return {
    name: 'script-before-app',
    apply: 'build',
    buildStart() {
      this.emitFile({ type: 'asset', name: 'before-app.js', source })
    },
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const file = Object.keys(bundle).find((name) => /before-app-[\w-]+\.js$/.test(name))
        if (file === undefined || !html.includes(PLACE))
          throw new Error('the page has no place for the script before the app')
        // In the head they would hold up the first paint; behind the frame they only hold up what follows.
        const styles = STYLES.exec(html)?.[1]
        if (styles === undefined || !html.includes(BEHIND_FRAME))
          throw new Error('the page has no styles, or no place for them')
        return html
          .replace(STYLES, '')
          .replace(BEHIND_FRAME, styles)
          .replace(PLACE, `<script src="/console/${file}"></script>`)
      },
    },
  }
}

const partsOfFolder = (id: string) => `${/\/pages\/([^/]+)\//.exec(id)?.[1]}-parts`

const KIT =
  /\/node_modules\/|\/src\/lib\/|\/console\/((main|routes)\.tsx$|(lib|queries|shell)\/|ui\/[^/]+$|messages\/(?!en|de)[^/]+$)/
/** Loaded with the pages that use them. */
const ON_FEW_PAGES =
  /\/(@radix-ui\/react-(popover|tabs)\/|lib\/(passkeys|qr-code|read-server-events)\.|queries\/passkeys\.|shell\/(CommandPalette|PasswordForm)\.|queries\/notices\.|queries\/teams\.|ui\/(InvitationLink|NewPasswordField|PasskeyButton|Picker|Popover|RoleField|Tabs)\.)/

/**
 * One chunk holds what most pages need: split by use it became sixty files with a kilobyte of headers each. A second
 * chunk holds charts and requests, which many pages share, and each folder of pages has one for its shared parts. Pages and
 * messages stay files of their own.
 */
const GROUPS = [
  { name: 'kit', test: (id: string) => KIT.test(id) && !ON_FEW_PAGES.test(id), priority: 2 },
  { name: 'parts', test: /\/console\/(pages\/requests|ui\/charts)\//, minShareCount: 2, priority: 1 },
  { name: partsOfFolder, debugName: 'parts of a folder of pages', test: /\/console\/pages\//, minShareCount: 2 },
]

export default defineConfig({
  root: here('.'),
  base: '/console/',
  // The page names its files by the whole path, because it is shown at paths of any depth; they name each other from where they are. So
  // only the page depends on the prefix of `server.public_url`, which the server writes into it.
  experimental: { renderBuiltUrl: (_, { hostType }) => ({ relative: hostType !== 'html' }) },
  plugins: [react(), tailwind(), scriptBeforeApp()],
  resolve: { alias: { 'react-remove-scroll': here('ui/no-scroll-lock.ts') } },
  build: {
    outDir: here('../dist/console'),
    emptyOutDir: true,
    target: 'es2022',
    // Inlined data: URLs and injected scripts would need a weaker content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    manifest: true,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
})
