import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addressOf, escapeHtml, fileOf, hrefFrom, readPages } from './read-pages.mjs'

const SITE = fileURLToPath(new URL('./site', import.meta.url))

/** The groups of the menu, in their order; a page is in the first group whose folder or name it has. */
const GROUPS = [
  { name: 'Start', holds: /^docs\/(?:README|quick-start-.*|troubleshooting)\.md$/ },
  { name: 'API', holds: /^docs\/api\// },
  { name: 'Clients', holds: /^docs\/clients\// },
  { name: 'Operate', holds: /^docs\/operate\// },
  { name: 'Providers', holds: /^docs\/providers\// },
  { name: 'Protocols', holds: /^docs\/protocols\// },
  { name: 'Decisions', holds: /^docs\/decisions\// },
  { name: 'Contribute', holds: /./ },
]
/** Readers of the site look for how to use it before why it was built so. */
const WEIGHTS = { Start: 1.2, Protocols: 0.8, Decisions: 0.5, Contribute: 0.5 }

const groupOf = ({ source }) => GROUPS.find(({ holds }) => holds.test(source)).name

/** Writes the pages below `root` as a site into `folder`. Returns how many pages. */
export function buildSite(root, folder) {
  const { pages, images } = readPages(root)
  rmSync(folder, { recursive: true, force: true })
  const write = (name, contents) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), contents)
  }
  for (const page of pages) write(fileOf(page.source), htmlOf(page, pages))
  for (const image of images) write(fileOf(image), readFileSync(join(root, image)))
  cpSync(SITE, folder, { recursive: true })
  write('search.json', JSON.stringify(sectionsOf(pages)))
  return pages.length
}

/** What is searched. */
export const sectionsOf = (pages) =>
  pages.flatMap((page) =>
    page.sections.map(({ heading, slug, depth, text }) => ({
      ...{ title: page.title, heading, text: text.replace(/\s+/g, ' ').trim() },
      address: `${addressOf(page.source)}${depth === 1 ? '' : `#${slug}`}`,
      weight: WEIGHTS[groupOf(page)] ?? 1,
    })),
  )

function htmlOf(page, pages) {
  const toSite = '../'.repeat(addressOf(page.source).split('/').length - 1) || './'
  const menu = menuOf(page, pages)
  return `<!doctype html>
<html lang="en" data-site="${toSite}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} - Millrace documentation</title>
<link rel="stylesheet" href="${toSite}page.css">
<script type="module" src="${toSite}page.mjs"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a href="${toSite}">Millrace <span class="name-of-site">documentation</span></a>
<div class="search">
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search the documentation" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="found">
<div id="found" role="listbox" aria-label="Search results" hidden></div>
<p id="found-count" role="status" hidden></p>
</div>
</header>
<div class="columns">
<nav class="menu" aria-label="Pages">${menu}</nav>
<main id="content">
<details class="small-menu"><summary>All pages</summary><nav aria-label="Pages">${menu}</nav></details>
${page.html}</main>
<nav class="here" aria-label="On this page">${contentsOf(page)}</nav>
</div>
</body>
</html>
`
}

function menuOf(page, pages) {
  const linkOf = (each) => {
    const current = each === page ? ' aria-current="page"' : ''
    return `<li><a href="${hrefFrom(page.source, each.source)}"${current}>${escapeHtml(each.title)}</a></li>`
  }
  return GROUPS.map(({ name }) => {
    const inGroup = pages.filter((each) => groupOf(each) === name)
    const open = inGroup.includes(page) || name === 'Start' ? ' open' : ''
    return `<details${open}><summary>${name}</summary><ul>${inGroup.map(linkOf).join('')}</ul></details>`
  }).join('\n')
}

function contentsOf({ sections }) {
  const shown = sections.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < 2) return ''
  const items = shown.map(({ heading, slug, depth }) => {
    return `<li><a${depth === 3 ? ' class="deeper"' : ''} href="#${slug}">${escapeHtml(heading)}</a></li>`
  })
  return `<p>On this page</p><ul>${items.join('')}</ul>`
}
