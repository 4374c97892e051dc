const PAGE = /lazyPage\(\s*\[([^\]]*)\],\s*\(\) => import\('\.\/([^']+)'\)/g

/** Which areas of the catalogue come with each page: `lazyPage(['keys'], () => import('./pages/keys/KeysPage.tsx'), …)`. */
export const pageWords = (routes) =>
  [...routes.matchAll(PAGE)].map(([, areas, page]) => ({
    page,
    areas: [...areas.matchAll(/\w+/g)].map(([area]) => area),
  }))
