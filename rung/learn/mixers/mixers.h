// One function a file of this folder; make_mixer (mixer_list.cc) is the list.
#pragma once

#include "rung/learn/mixer.h"

namespace rung::learn {

using MixerMaker = std::unique_ptr<LearnedMixer>(const MixerShape&, const MixerPlace&, ParameterLayout&);

MixerMaker softmax_mixer;      // full, topk
MixerMaker sparse_mixer;       // sparse
MixerMaker linear_mixer;       // linear
MixerMaker mamba_mixer;        // mamba
MixerMaker mamba2_mixer;       // mamba2
MixerMaker delta_mixer;        // delta, gdelta
MixerMaker log_linear_mixer;   // loglinear
MixerMaker cell_mixer;         // rnn, gru
MixerMaker convolution_mixer;  // conv
MixerMaker identity_mixer;     // identity
MixerMaker heads_mixer;        // heads(...)

}  // namespace rung::learn
