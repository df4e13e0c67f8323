// One function a file of this folder; make_mixer (mixer_list.cc) is the list.
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

using MixerMaker = std::unique_ptr<LearnedMixer>(const MixerShape&, const MixerPlace&, ParameterLayout&);

MixerMaker softmax_mixer;          // full, topk
MixerMaker sparse_mixer;           // sparse
MixerMaker linear_mixer;           // linear
MixerMaker mamba_mixer;            // mamba
MixerMaker mamba2_mixer;           // mamba2
MixerMaker delta_mixer;            // delta, gdelta
MixerMaker log_linear_mixer;       // loglinear
MixerMaker time_mixing_mixer;      // rwkv7
MixerMaker released_matrix_mixer;  // gla, kda; released forms of mamba2, delta, gdelta, loglinear
MixerMaker released_mamba_mixer, released_sparse_mixer, released_topk_mixer;  // of these words
MixerMaker cell_mixer;                                                        // rnn, gru
MixerMaker convolution_mixer;                                                 // conv
MixerMaker identity_mixer;                                                    // identity
MixerMaker heads_mixer;                                                       // heads(...)

}  // namespace rung::learn
