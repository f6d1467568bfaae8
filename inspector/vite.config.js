import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [svelte()],
  base: './',
  build: {
    outDir: '../src/hindsight_integrations/server/assets',
    emptyOutDir: true,
    assetsDir: '.',
    modulePreload: false,
    // An inlined asset would be a data: address, which the page's policy forbids.
    assetsInlineLimit: 0,
  },
  worker: { format: 'es' },
  // The page's own server, for `npm run dev`: hindsight-memory inspect PATH --no-browser --port 8700
  server: { proxy: { '/api': 'http://127.0.0.1:8700' } },
})
